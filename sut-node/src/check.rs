//! Checks of the settings before a node starts. `--print-config` and `doctor` make these checks
//! too.

use netdiv_machine::evidence::System;

use crate::{process::error::NodeError, settings::config::Config};

/// Fails if a node with these settings cannot start, because a file is missing or invalid, or
/// because the machine contradicts the operator's statement about it. Checks only what can be
/// checked without loading the model. Writes nothing.
pub fn check(config: &Config) -> Result<(), NodeError> {
    config.engine.settings().check(&config.node)?;
    if let Some(statement) = &config.evidence {
        statement.supply(&mut System::default().machine()).map_err(anyhow::Error::from)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use serde_json::json;

    use super::*;
    use crate::settings::args::Args;

    fn refused(settings: serde_json::Value) -> Option<String> {
        let args = Args::of(&toml::to_string(&settings).unwrap());
        check(&args.resolve().unwrap()).err().map(|error| error.to_string())
    }

    #[test]
    fn files_that_a_start_would_miss_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/models");
        for name in ["digits.toml", "tiny-llama.toml"] {
            fs::copy(models.join(name), at(name)).unwrap();
        }
        fs::copy(models.join("../../deploy/sorting/sorting.toml"), at("own.toml")).unwrap();
        let (tensors, tokens) = (at("digits.toml"), at("tiny-llama.toml"));
        for (settings, words) in [
            (json!({"model": at("no.onnx")}), "cannot read the model /"),
            (json!({"model": folder.path()}), "it is a folder"),
            (json!({"engine": "decoder", "model": at("own.toml")}), "own.onnx"),
            (json!({"engine": "torch", "model": &tensors}), "digits.pt"),
            (json!({"engine": "torch", "model": &tokens}), "tiny-llama.pt"),
            (json!({"engine": "torch", "model": &tensors, "buckets": [8]}), "remove --buckets"),
            (
                json!({"engine": "torch", "model": &tensors, "libtorch": at("lib")}),
                "libtorch_cpu.so",
            ),
            (json!({"engine": at("no.so"), "model": &tensors}), "cannot load /"),
            (json!({"engine": at("no.so"), "model": &tokens}), "no.so: No such file"),
            (
                json!({"engine": "kserve", "url": ["http://127.0.0.1:1"], "model": &tensors}),
                "digits.pt",
            ),
        ] {
            let why = refused(settings.clone()).unwrap_or_default();
            assert!(why.contains(words), "{settings}: {why}");
        }
        for name in ["digits.pt", "tiny-llama.pt"] {
            fs::write(at(name), "weights").unwrap();
        }
        for settings in [
            json!({"model": "digits"}),
            json!({"engine": "none"}),
            json!({"engine": "torch", "model": &tensors}),
            json!({"engine": "torch", "model": &tokens}),
            json!({"engine": "somewhere-else.so", "model": &tokens}),
        ] {
            assert_eq!(refused(settings.clone()), None, "{settings}");
        }
    }

    #[test]
    fn a_statement_that_contradicts_the_machine_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("evidence.toml");
        fs::write(&file, "kernel = 'Plan 9'\n").unwrap();
        let why = refused(json!({"engine": "none", "evidence": file})).unwrap();
        assert!(why.contains("Plan 9") && why.contains("measured as"), "{why}");
    }
}
