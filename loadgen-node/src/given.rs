//! The settings as they were given, for the record and for running the same again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use netdiv_proto::digest::in_hex;
use sha2::{Digest as _, Sha256};

use crate::{RunArgs, args::RunConfig};

impl RunConfig {
    /// The settings as one text, and its SHA-256 in hex.
    pub(crate) fn in_words(&self) -> (String, String) {
        let text = serde_json::to_string(&self.given).unwrap_or_default();
        let sha256 = in_hex(&Sha256::digest(&text));
        (text, sha256)
    }
}

impl RunArgs {
    /// The same with whole paths, so that they mean the same everywhere.
    fn with_whole_paths(&self) -> Self {
        let mut args = self.clone();
        let network = &mut args.network;
        let paths = [
            &mut args.labels,
            &mut args.user_conf,
            &mut args.audit_config,
            &mut args.evidence,
            &mut args.benchmarks,
            &mut args.in_process,
            &mut args.output,
            &mut network.tls_ca,
            &mut network.tls_certificate,
            &mut network.tls_key,
            &mut network.token_file,
        ];
        for path in paths.into_iter().flatten() {
            *path = whole(path);
        }
        if let Some(dataset) = &mut args.dataset {
            let part = |part: &str| match Path::new(part).exists() {
                true => whole(Path::new(part)).display().to_string(),
                // Generated, or built in.
                false => part.to_owned(),
            };
            *dataset = dataset.split('+').map(part).collect::<Vec<_>>().join("+");
        }
        args
    }

    /// What was set, by file and command line.
    pub(crate) fn given(&self) -> BTreeMap<String, serde_json::Value> {
        let settings = serde_json::to_value(self.with_whole_paths()).ok();
        let map = settings.and_then(|settings| settings.as_object().cloned()).unwrap_or_default();
        map.into_iter().filter(|(_, value)| !value.is_null()).collect()
    }
}

/// The path from the root, where the system knows it.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
