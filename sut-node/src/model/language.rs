//! The manifest of a language model that an engine plug-in runs.

use std::path::{Path, PathBuf};

use netdiv_node_common::resources::companion::relative;
use netdiv_plugin::Precision;
use serde::{Deserialize, Serialize};

use crate::model::{
    manifest::{ModelFile, precision, precision_name},
    served_model::{MAX_TOKENS, ServedModel, within},
};

/// Manifest of a language model that an engine plug-in runs, with the limits of an engine instance.
#[derive(Debug, Clone, Serialize)]
pub struct LanguageModel {
    /// Path of the model file.
    #[serde(skip)]
    pub file: PathBuf,
    /// Element type of the weights.
    #[serde(serialize_with = "precision_name")]
    pub precision: Precision,
    /// Origin of the weights, as the manifest states it.
    pub weights: String,
    /// Maximum number of samples in flight in an instance.
    pub slots: u32,
    /// Maximum number of prompt tokens that a step of the engine processes, in addition to the
    /// tokens that it generates.
    pub chunk: u32,
    /// Memory for the keys and values of an instance, in MiB; 0: as much as the slots need.
    pub cache_mib: u32,
    /// Width of the beam search; 1: greedy.
    pub beams: u32,
    /// Name, limits and end-of-text ids of the model.
    #[serde(flatten)]
    pub served: ServedModel,
}

/// Value of the key `workload` in manifests of language models.
const WORKLOAD: &str = "language-model";

/// Maximum number of slots: more than any device has room for.
const MOST_SLOTS: u32 = 4096;

/// Maximum cache in MiB, 16 TiB: more than any device has.
const MOST_CACHE_MIB: u32 = 1 << 24;

/// Maximum number of beams: more than any benchmark needs.
const MOST_BEAMS: u32 = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageFile {
    name: String,
    model: PathBuf,
    workload: String,
    #[serde(deserialize_with = "precision")]
    precision: Precision,
    #[serde(default)]
    weights: String,
    tokens: TokensTable,
}

/// The table `[tokens]`: these keys, and the keys of a served model except its name.
#[derive(Deserialize)]
struct TokensTable {
    slots: u32,
    chunk: u32,
    #[serde(default)]
    cache_mib: u32,
    #[serde(default = "greedy")]
    beams: u32,
    #[serde(flatten)]
    served: toml::Table,
}

fn greedy() -> u32 {
    1
}

impl LanguageModel {
    /// Returns true if the file is the manifest of a language model, even if it is invalid as such.
    pub(crate) fn is_in(file: &ModelFile<'_>) -> bool {
        file.value("tokens").is_some() || file.value("workload") == Some(WORKLOAD.into())
    }

    /// Reads and checks the manifest of a language model.
    pub(crate) fn of(file: &ModelFile<'_>) -> anyhow::Result<Self> {
        let kind = "not a manifest of a language model (docs/ENGINES.md): ";
        file.parse(kind, |keys: LanguageFile| keys.check(file.path))
    }
}

impl LanguageFile {
    fn check(self, path: &Path) -> Result<LanguageModel, String> {
        if self.workload != WORKLOAD {
            let workload = self.workload;
            return Err(format!("workload = {workload:?}: with [tokens], it must be {WORKLOAD:?}"));
        }
        let TokensTable { slots, chunk, cache_mib, beams, mut served } = self.tokens;
        let in_tokens = |why| format!("[tokens] {why}");
        if served.insert("name".into(), self.name.into()).is_some() {
            return Err(in_tokens("name: it belongs at the top of the manifest".into()));
        }
        let served = ServedModel::greedy(served).map_err(in_tokens)?;
        within("slots", slots, 1, MOST_SLOTS)
            .and_then(|()| within("chunk", chunk, 1, MAX_TOKENS))
            .and_then(|()| within("cache_mib", cache_mib, 0, MOST_CACHE_MIB))
            .and_then(|()| within("beams", beams, 1, MOST_BEAMS))
            .map_err(in_tokens)?;
        Ok(LanguageModel {
            file: relative(path, &self.model).map_err(|error| error.to_string())?,
            precision: self.precision,
            weights: self.weights,
            served,
            slots,
            chunk,
            cache_mib,
            beams,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = 'tiny'\nmodel = 'tiny.pt'\nworkload = 'language-model'\nprecision = 'fp32'\n[tokens]\n\
        vocabulary = 4096\nmax_input_tokens = 1024\nmax_tokens = 512\neos = [2]\nslots = 32\nchunk = 256\n";

    #[test]
    fn a_manifest_says_what_is_asked_of_the_model_and_how_much_runs_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiny.toml");
        std::fs::write(&path, GOOD).unwrap();
        let file = ModelFile::read(&path).unwrap();
        assert!(LanguageModel::is_in(&file));
        let model = LanguageModel::of(&file).unwrap();
        assert_eq!(model.file, folder.path().join("tiny.pt"));
        assert_eq!((model.served.name.as_str(), model.served.min_tokens), ("tiny", 1));
        assert_eq!((model.slots, model.chunk, model.cache_mib, model.beams), (32, 256, 0, 1));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiny.toml");
        for (from, to, words) in [
            ("= 32", "= 0", "[tokens] slots = 0: must be from 1 to 4096"),
            ("= 32", "= 5000", "slots = 5000"),
            ("= 256", "= 0", "[tokens] chunk = 0: must be from 1 to 1048576"),
            ("slots", "cache_mib = 20000000\nslots", "cache_mib = 20000000: must be from 0"),
            ("slots", "beams = 0\nslots", "beams = 0: must be from 1 to 64"),
            ("slots", "slot", "missing field `slots`"),
            ("chunk = 256", "", "missing field `chunk`"),
            ("= 4096", "= 0", "[tokens] vocabulary = 0: must be from 1"),
            ("= 4096", "= -1", "[tokens] invalid value: integer `-1`"),
            ("[2]", "[4096]", "[tokens] eos has 4096; ids go from 0 to 4095"),
            ("eos", "min_tokens = 513\neos", "min_tokens = 513: must be from 1 to 512"),
            ("eos", "end", "[tokens] unknown field `end`, expected one of"),
            ("eos", "name = 'other'\neos", "[tokens] name: it belongs at the top"),
            ("'tiny'", "''", "name is empty"),
            ("fp32", "fp8", "unknown value `fp8`, expected one of `fp32`"),
            ("[tokens]", "inputs = []\n[tokens]", "unknown field `inputs`"),
            ("[tokens]", "outputs = []\n[tokens]", "unknown field `outputs`"),
            ("[tokens]", "[parameters]\n[tokens]", "unknown field `parameters`"),
            ("[tokens]", "[batching.default]\n[tokens]", "unknown field `batching`"),
            ("[tokens]", "[token]", "unknown field `token`"),
            ("-model'", "-models'", "workload = \"language-models\": with [tokens], it must be"),
        ] {
            let file = ModelFile::new(&path, GOOD.replacen(from, to, 1));
            let error = LanguageModel::of(&file).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("tiny.toml"), "{words}: {error}");
        }
        let error = ModelFile::read("/nowhere".as_ref()).unwrap_err().to_string();
        assert!(error.contains("/nowhere: cannot be read"), "{error}");
    }
}
