//! Settings that are not the defaults. `result.json` records them, and a compliance test runs with
//! them again.

use std::collections::BTreeMap;

use netdiv_node_common::process::{parse_keys, with_absolute_paths};
use serde_json::{Map, Value};

use super::{RunArgs, Target};
use crate::RunError;

impl RunArgs {
    /// Returns the settings of file and command line, with absolute paths and the nodes that were
    /// found. They mean the same in every folder and at every time.
    pub(super) fn recorded_settings(
        &self,
        target: &Target,
    ) -> Result<BTreeMap<String, Value>, RunError> {
        let mut args = self.clone();
        if let Some(settings) = target.nodes() {
            args.network.nodes = Some(settings.nodes.clone());
        }
        Ok(args.given()?.into_iter().collect())
    }

    /// Returns the settings that are not the defaults, by key, with absolute paths.
    pub(super) fn given(&self) -> Result<Map<String, Value>, RunError> {
        let defaults = with_absolute_paths(&parse_keys::<Self>([""; 0])?)?;
        let mut given = with_absolute_paths(self)?;
        given.retain(|key, value| defaults.get(key) != Some(value));
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_are_settings_that_mean_the_same_in_every_folder() {
        let options = [
            "--dataset=Cargo.toml+synthetic:4x16",
            "--user-conf=user.conf",
            "--setting=min_query_count=1",
            "--mode=performance",
        ];
        let args: RunArgs = parse_keys(options).unwrap();
        let nodes = vec!["a:1".to_owned(), "n@10.0.0.1:5".to_owned()];
        let target = Target::Nodes(Box::new(netdiv_qdl::Settings::new(nodes.clone())));
        let here = std::env::current_dir().unwrap();
        let file = here.join("Cargo.toml").display().to_string();
        let want = serde_json::json!({
            "dataset": format!("{file}+synthetic:4x16"), "nodes": nodes,
            "setting": ["min_query_count=1"], "user_conf": here.join("user.conf"),
        });
        assert_eq!(Value::from_iter(args.recorded_settings(&target).unwrap()), want);
    }
}
