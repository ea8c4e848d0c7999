//! The settings as they were given: they are recorded in `result.json`, and a compliance test runs with them again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{RunArgs, Target};
use crate::RunError;

impl RunArgs {
    /// What file and command line have set, with absolute paths and the nodes that were found: it means the same in every
    /// folder, and at every time.
    pub(super) fn given(
        &self,
        target: &Target,
    ) -> Result<BTreeMap<String, serde_json::Value>, RunError> {
        let failed = |error| RunError::Usage(format!("cannot record the settings: {error}"));
        let mut args = self.with_absolute_paths();
        if let Some(settings) = target.nodes() {
            args.network.nodes = Some(settings.nodes.clone());
        }
        let settings = serde_json::to_value(args).map_err(failed)?;
        let settings: BTreeMap<_, serde_json::Value> =
            serde_json::from_value(settings).map_err(failed)?;
        Ok(settings.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }

    fn with_absolute_paths(&self) -> Self {
        let mut args = self.clone();
        let network = &mut args.network;
        let paths = [
            &mut args.labels,
            &mut args.user_conf,
            &mut args.audit_config,
            &mut args.evidence,
            &mut args.table.benchmarks,
            &mut args.in_process,
            &mut args.output,
            &mut network.tls_ca,
            &mut network.tls_certificate,
            &mut network.tls_key,
            &mut network.token_file,
        ];
        for path in paths.into_iter().flatten() {
            *path = absolute(path);
        }
        if let Some(dataset) = &mut args.dataset {
            // A part that is no file is generated or built in.
            let part = |part: &str| {
                let path = Path::new(part);
                if path.exists() { absolute(path).display().to_string() } else { part.to_owned() }
            };
            *dataset = dataset.split('+').map(part).collect::<Vec<_>>().join("+");
        }
        args
    }
}

/// The path from the root, where the system knows it.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_are_settings_that_mean_the_same_in_every_folder() {
        let args = RunArgs {
            dataset: Some("Cargo.toml+synthetic:4x16".into()),
            user_conf: Some("user.conf".into()),
            setting: Some(vec!["min_query_count=1".into()]),
            ..RunArgs::default()
        };
        let nodes = vec!["a:1".to_owned(), "n@10.0.0.1:5".to_owned()];
        let target = Target::Nodes(Box::new(netdiv_qdl::Settings::new(nodes.clone())));
        let given = args.given(&target).unwrap();
        let keys: Vec<_> = given.keys().map(String::as_str).collect();
        assert_eq!(keys, ["dataset", "nodes", "setting", "user_conf"]);
        let again: RunArgs = serde_json::from_value(serde_json::Value::from_iter(given)).unwrap();
        assert_eq!(again.network.nodes, Some(nodes));
        let here = std::env::current_dir().unwrap();
        assert_eq!(again.user_conf, Some(here.join("user.conf")));
        let file = here.join("Cargo.toml").display().to_string();
        assert_eq!(again.dataset, Some(format!("{file}+synthetic:4x16")));
    }
}
