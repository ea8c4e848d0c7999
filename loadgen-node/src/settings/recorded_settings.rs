//! Settings as the operator gave them. `result.json` records them, and a compliance test runs with
//! them again.

use std::collections::BTreeMap;

use netdiv_node_common::process::with_absolute_paths;

use super::{RunArgs, Target};
use crate::RunError;

impl RunArgs {
    /// Returns the settings of file and command line, with absolute paths and the nodes that were
    /// found. They mean the same in every folder and at every time.
    pub(super) fn recorded_settings(
        &self,
        target: &Target,
    ) -> Result<BTreeMap<String, serde_json::Value>, RunError> {
        let failed = |error| RunError::Usage(format!("cannot record the settings: {error}"));
        let mut args = self.clone();
        if let Some(settings) = target.nodes() {
            args.network.nodes = Some(settings.nodes.clone());
        }
        let settings = serde_json::to_value(with_absolute_paths(&args)?).map_err(failed)?;
        let settings: BTreeMap<_, serde_json::Value> =
            serde_json::from_value(settings).map_err(failed)?;
        Ok(settings.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }
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
        let given = args.recorded_settings(&target).unwrap();
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
