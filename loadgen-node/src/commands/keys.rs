//! Keys of settings files. All commands with a settings file share them.

use netdiv_dataset::replace_paths;
use netdiv_node_common::process::{Keys, Replace};
use netdiv_rules::user_conf;
use netdiv_transport::discovery::with_files;
use serde::Serialize;

use super::fabric::FabricArgs;
use crate::{NetworkArgs, RunArgs};

/// Keys of all commands that read a settings file.
#[derive(Debug, clap::Args, Serialize)]
pub struct AllKeys {
    /// Keys of `run`, `doctor` and `probe`, which include the keys of `nodes`.
    #[command(flatten)]
    #[serde(flatten)]
    run: RunArgs,
    /// Keys of `fabric`.
    #[command(flatten)]
    #[serde(flatten)]
    fabric: FabricArgs,
}

impl Keys for AllKeys {
    type All = Self;
    const MIXED: &'static [(&'static str, Replace)] =
        &[("nodes", with_files), ("dataset", replace_paths)];
}

impl Keys for RunArgs {
    type All = AllKeys;

    fn faults_of_files(&self) -> Option<String> {
        // Faults do not depend on benchmark and scenario, which may be missing.
        user_conf::check(self.user_conf.as_deref()?, "", "").err()
    }
}

impl Keys for NetworkArgs {
    type All = AllKeys;
}

impl Keys for FabricArgs {
    type All = AllKeys;
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use clap::{Args as _, Command};
    use netdiv_node_common::process::read_settings;
    use tempfile::TempDir;

    use super::*;

    /// Creates a settings file in a temporary folder.
    fn run_toml(text: &str) -> (TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn a_key_has_one_form_in_all_commands() {
        let all = AllKeys::augment_args(Command::new(""));
        let (mut forms, mut shared) = (BTreeMap::new(), 0);
        for key in all.get_arguments() {
            let form = (key.get_value_parser().type_id(), format!("{:?}", key.get_action()));
            if let Some(before) = forms.insert(key.get_id(), form.clone()) {
                assert_eq!(before, form, "{}", key.get_id());
                shared += 1;
            }
        }
        assert!(shared > 15, "{shared}");
    }

    #[test]
    fn every_command_takes_the_file_of_a_run() {
        let text = "benchmark = 'bert-99'\nscenario = 'server'\nnodes = ['a', '@list']\n\
                    rounds = 2\ndataset = 'x.npy+synthetic:4x16'\nuser_conf = 'user.conf'\njson = '-'\n";
        let (folder, path) = run_toml(text);
        let at = |name: &str| folder.path().join(name).display().to_string();
        let nodes = Some(vec!["a".to_owned(), format!("@{}", at("list"))]);
        let network = read_settings::<NetworkArgs>(&path).unwrap();
        assert_eq!(network.nodes, nodes);
        let run = read_settings::<RunArgs>(&path).unwrap();
        assert_eq!(run.dataset, Some(format!("{}+synthetic:4x16", at("x.npy"))));
        assert_eq!(run.user_conf.as_deref(), Some(Path::new(&at("user.conf"))));
        assert_eq!((run.network.nodes, run.benchmark), (nodes, Some("bert-99".to_owned())));
        assert!(read_settings::<FabricArgs>(&path).is_ok());
    }

    #[test]
    fn placeholders_of_user_conf_are_listed_with_those_of_the_file() {
        let (folder, path) = run_toml("dataset = 'TODO-dataset.npy'\nuser_conf = 'user.conf'\n");
        fs::write(folder.path().join("user.conf"), "*.Server.target_qps = TODO\n").unwrap();
        let run = read_settings::<RunArgs>(&path).unwrap_err().to_string();
        let lines: Vec<_> = run.lines().collect();
        assert_eq!(lines.len(), 2, "{run}");
        assert!(lines[0].contains("run.toml, line 1: dataset is still TODO"), "{run}");
        assert!(lines[1].contains("user.conf, line 1: target_qps is still TODO"), "{run}");
        assert!(read_settings::<NetworkArgs>(&path).is_ok());
    }

    #[test]
    fn what_is_no_key_of_any_command_is_refused_by_all() {
        for (text, words) in [
            ("roundz = 2", "(did you mean round?)"),
            ("tolerance = '5%'", "there is no such setting"),
            ("rounds = 'two'", "`rounds`: invalid value 'two'"),
            ("benchmark = ['bert-99']", "`benchmark`: expected a single value"),
        ] {
            let (_folder, path) = run_toml(text);
            let run = read_settings::<RunArgs>(&path).unwrap_err().to_string();
            let fabric = read_settings::<FabricArgs>(&path).unwrap_err().to_string();
            assert!(run == fabric && run.contains(words), "{text}: {run}");
        }
    }
}
