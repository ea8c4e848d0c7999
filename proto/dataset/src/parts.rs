//! Data sets of several parts: a TOML file, which `deploy/data` writes, lists the file of each part.
//! Runs of one benchmark use different parts, which differ in their samples and in the maximum length
//! of outputs.

use std::{
    collections::BTreeMap,
    num::NonZero,
    path::{Path, PathBuf},
};

use netdiv_node_common::{
    resources::files,
    words::{DatasetPart, PartName, count, with_suggestion},
};
use serde::Deserialize;

use crate::{error::DatasetError, manifest::Manifest, sample::Dataset, verified::VerifiedDataset};

/// Supported version of the format.
const FORM: u32 = 1;

#[derive(Deserialize)]
struct PartsFile {
    form: u32,
    benchmark: String,
    #[serde(flatten)]
    parts: BTreeMap<PartName, PartEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartEntry {
    /// Name of the file, which is beside the TOML file.
    file: PathBuf,
    samples: usize,
    max_output_tokens: NonZero<u32>,
    /// SHA-256 of the file, in hex.
    sha256: String,
}

/// Returns true if a name is the path of a TOML file, which lists parts.
pub fn has_parts(name: &str) -> bool {
    let path = Path::new(name);
    // Several names are joined by `+`.
    path.extension().is_some_and(|end| end == "toml") && (path.exists() || !name.contains('+'))
}

/// Returns true if a data set has parts, among them this one.
pub fn has_part(name: &str, part: PartName) -> Result<bool, DatasetError> {
    Ok(has_parts(name) && PartsFile::read(name.as_ref())?.parts.contains_key(&part))
}

/// Returns the SHA-256 of the files that a part of a data set was made of, by name; empty if its
/// manifest lists none.
pub fn part_sources(name: &str, part: PartName) -> Result<BTreeMap<String, String>, DatasetError> {
    let file = ListedPart::read(name.as_ref(), part)?.file();
    Ok(Manifest::find_beside(&file)?.map_or_else(BTreeMap::new, |manifest| manifest.sources))
}

impl PartsFile {
    fn read(path: &Path) -> Result<Self, DatasetError> {
        let bad = |why: String| DatasetError::BadParts { path: path.into(), why };
        let text = files::read_toml(path).map_err(|error| unreadable(path, error))?;
        let file: Self =
            toml::from_str(&text).map_err(|error| bad(with_suggestion(&error.to_string())))?;
        if file.form != FORM {
            return Err(bad(format!(
                "it has form {}, and only form {FORM} is supported",
                file.form
            )));
        }
        Ok(file)
    }
}

/// Part as the TOML file at `path` lists it.
pub(super) struct ListedPart {
    path: PathBuf,
    benchmark: String,
    name: PartName,
    entry: PartEntry,
}

impl ListedPart {
    pub(super) fn read(path: &Path, name: PartName) -> Result<Self, DatasetError> {
        let bad = |why: String| DatasetError::BadParts { path: path.into(), why };
        let PartsFile { benchmark, mut parts, .. } = PartsFile::read(path)?;
        let Some(entry) = parts.remove(&name) else {
            let names: Vec<_> = parts.keys().map(|name| name.word()).collect();
            return Err(bad(format!("it has no part {name}; its parts: {}", names.join(", "))));
        };
        if entry.file.file_name() != Some(entry.file.as_os_str()) {
            return Err(bad(format!(
                "the file of the part {name} is `{}`, expected the name of a file beside it",
                entry.file.display()
            )));
        }
        Ok(Self { path: path.into(), benchmark, name, entry })
    }

    /// Returns the path of the file with the samples.
    pub(super) fn file(&self) -> PathBuf {
        self.path.with_file_name(&self.entry.file)
    }

    /// Returns the part with the samples `data` of its file. Fails if they are not those that the
    /// TOML file describes.
    pub(super) fn verified(self, data: Box<dyn Dataset>) -> Result<VerifiedDataset, DatasetError> {
        let file = self.file();
        let Self { path, benchmark, name, entry } = self;
        let bad = |why: String| DatasetError::BadParts {
            path: path.clone(),
            why: format!("part {name}: {} {why}", file.display()),
        };
        let found = data.sample_count();
        if found != entry.samples {
            let found = count(found, "sample");
            return Err(bad(format!("has {found}, expected {}", entry.samples)));
        }
        let found = files::sha256(&file).map_err(|error| unreadable(&file, error))?;
        if !found.eq_ignore_ascii_case(&entry.sha256) {
            return Err(bad(format!("has the SHA-256 {found}, expected {}", entry.sha256)));
        }
        let Some(mut manifest) = Manifest::find_beside(&file)? else {
            return Err(bad("has no manifest beside it".into()));
        };
        let prepared = &mut manifest.prepared;
        if prepared.benchmark != benchmark {
            let found = &prepared.benchmark;
            return Err(bad(format!("was prepared for {found}, not for {benchmark}")));
        }
        // The TOML file is the same for every part, so that runs with two parts are of one data set.
        prepared.data_set = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        prepared.manifest_sha256 =
            files::sha256(&path).map_err(|error| unreadable(&path, error))?;
        let mut verified = VerifiedDataset::new(data, manifest)?;
        verified.part = Some(DatasetPart { name, max_output_tokens: entry.max_output_tokens });
        Ok(verified)
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> DatasetError {
    DatasetError::Unreadable { path: path.into(), error }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Provenance, open, open_part, parts_file::write_parts};

    /// Writes a data set of two parts, with one sample for performance and two for accuracy, and
    /// returns the path of its TOML file. `spoil` changes the TOML file.
    fn written(folder: &Path, spoil: impl Fn(String) -> String) -> String {
        let parts = [
            ("performance", vec![vec![1, 2]], 10_240),
            ("accuracy", vec![vec![3], vec![4, 5]], 32_768),
        ];
        let path = write_parts(folder, "oss", &parts);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, spoil(text)).unwrap();
        path
    }

    #[test]
    fn parts_differ_in_samples_and_limits_and_are_of_one_data_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), |text| text);
        assert!(has_parts(&path) && !has_parts("digits") && !has_parts("/no/such.npy+oss.toml"));
        assert!(has_part(&path, PartName::Accuracy).unwrap());
        assert!(!has_part(&path, PartName::Test07).unwrap());
        let of = |part| open_part(&path, part).unwrap();
        let (performance, accuracy) = (of(PartName::Performance), of(PartName::Accuracy));
        assert_eq!((performance.sample_count(), accuracy.sample_count()), (1, 2));
        let limits = [&performance, &accuracy].map(|data| data.part().unwrap().max_output_tokens);
        assert_eq!(limits.map(NonZero::get), [10_240, 32_768]);
        assert_eq!([performance.name(), accuracy.name()], ["oss.toml"; 2]);
        assert_eq!(performance.prepared(), accuracy.prepared());
        let [Provenance { data_set, manifest_sha256, .. }] = &accuracy.prepared()[..] else {
            panic!("one manifest")
        };
        assert_eq!(
            (&**data_set, manifest_sha256),
            ("oss.toml", &files::sha256(path.as_ref()).unwrap())
        );
        assert!(accuracy.read(0).is_ok() && accuracy.read(1).is_ok());
        assert_eq!(open("digits").unwrap().part(), None);
    }

    #[test]
    fn a_part_that_is_not_the_described_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("oss-accuracy.ids").display().to_string();
        let outside = outside.as_str();
        for (from, to, why) in [
            ("form = 1", "form = 2", "it has form 2, and only form 1 is supported"),
            ("samples = 2", "samples = 3", "oss-accuracy.ids has 2 samples, expected 3"),
            ("oss-accuracy.ids", "oss-performance.ids", "has 1 sample, expected 2"),
            ("[accuracy]", "[accurate]", "unknown variant `accurate`, expected one of"),
            ("[accuracy]", "[TEST07]", "no part accuracy; its parts: performance, TEST07"),
            ("oss-accuracy.ids", "../oss-accuracy.ids", "expected the name of a file beside it"),
            ("oss-accuracy.ids", outside, "expected the name of a file beside it"),
            ("\"oss-accuracy.ids\"", "\"..\"", "expected the name of a file beside it"),
            ("= 32768", "= 0", "expected a nonzero u32"),
            (
                "benchmark = \"oss\"",
                "benchmark = \"ossuary\"",
                "was prepared for oss, not for ossuary",
            ),
            ("sha256 = \"", "sha256 = \"0", "has the SHA-256 "),
            ("samples = 2\n", "samples = 2\nsample = 2\n", "unknown field `sample`"),
        ] {
            let spoil = |text: String| {
                let at = text.rfind(from).unwrap();
                format!("{}{to}{}", &text[..at], &text[at + from.len()..])
            };
            let path = written(folder.path(), spoil);
            let error = open_part(&path, PartName::Accuracy).err().expect(to).to_string();
            assert!(error.contains(why) && error.contains("oss.toml"), "{to}: {error}");
        }
        let path = written(folder.path(), |text| text);
        for (changed, why) in [
            ("oss-accuracy.ids.manifest.json", "oss-accuracy.ids has no manifest beside it"),
            ("oss-accuracy.ids", "cannot read "),
        ] {
            fs::remove_file(folder.path().join(changed)).unwrap();
            let error = open_part(&path, PartName::Accuracy).err().expect("refused").to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_file_that_lists_parts_is_not_read_as_one_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), |text| text);
        for name in [path.clone(), format!("{path}+synthetic-ids:2x4")] {
            let error = open(&name).err().expect("refused").to_string();
            assert!(error.contains("oss.toml lists parts"), "{error}");
        }
        let lost = folder.path().join("lost.toml").display().to_string();
        let error = open_part(&lost, PartName::Accuracy).err().expect("refused").to_string();
        assert!(error.contains("cannot read ") && error.contains("lost.toml: "), "{error}");
        assert!(has_part(&lost, PartName::Accuracy).is_err());
    }
}
