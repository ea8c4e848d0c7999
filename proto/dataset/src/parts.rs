//! Data sets of several parts: a TOML file, which `deploy/data` writes, lists the file of each part.
//! Runs of one benchmark use different parts, which differ in their samples and in the maximum length
//! of outputs.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

use netdiv_contract::layout::InputLayout;
use netdiv_node_common::{
    resources::files,
    words::{DatasetPart, PartName, with_suggestion},
};
use serde::Deserialize;

use crate::{
    error::DatasetError,
    manifest::{Manifest, Provenance},
    sample::{Dataset, Sample},
    verified::VerifiedDataset,
};

/// Supported version of the format.
const FORM: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartsFile {
    form: u32,
    benchmark: String,
    performance: Option<PartEntry>,
    accuracy: Option<PartEntry>,
    #[serde(rename = "TEST07")]
    test07: Option<PartEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartEntry {
    /// Name of the file, which is beside the TOML file.
    file: PathBuf,
    samples: u64,
    max_output_tokens: NonZero<u32>,
    /// SHA-256 of the file, in hex.
    sha256: String,
}

/// Returns true if a name is the path of a file that lists parts.
pub fn has_parts(name: &str) -> bool {
    let path = Path::new(name);
    path.extension().is_some_and(|extension| extension == "toml") && path.is_file()
}

/// Returns the names of the parts that a file lists, in a sentence.
pub(super) fn listed_parts(path: &Path) -> Result<String, DatasetError> {
    Ok(names(&PartsFile::read(path)?.entries()))
}

fn names(entries: &[(PartName, Option<PartEntry>)]) -> String {
    let listed = entries.iter().filter(|(_, entry)| entry.is_some());
    listed.map(|(name, _)| name.word()).collect::<Vec<_>>().join(", ")
}

impl PartsFile {
    fn read(path: &Path) -> Result<Self, DatasetError> {
        let bad = |why: String| DatasetError::BadParts { path: path.into(), why };
        let text = files::read_toml(path)
            .map_err(|error| DatasetError::Unreadable { path: path.into(), error })?;
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

    fn entries(self) -> [(PartName, Option<PartEntry>); 3] {
        [
            (PartName::Performance, self.performance),
            (PartName::Accuracy, self.accuracy),
            (PartName::Test07, self.test07),
        ]
    }
}

/// Part as the TOML file at `path` lists it.
pub(super) struct ListedPart {
    path: PathBuf,
    benchmark: String,
    part: DatasetPart,
    /// File with the samples.
    pub(super) file: PathBuf,
    samples: u64,
    sha256: String,
}

impl ListedPart {
    pub(super) fn read(path: &Path, wanted: PartName) -> Result<Self, DatasetError> {
        let bad = |why: String| DatasetError::BadParts { path: path.into(), why };
        let listed = PartsFile::read(path)?;
        let benchmark = listed.benchmark.clone();
        let mut entries = listed.entries();
        let found = entries.iter_mut().find(|(name, _)| *name == wanted);
        let Some(PartEntry { file, samples, max_output_tokens, sha256 }) =
            found.and_then(|(_, entry)| entry.take())
        else {
            return Err(bad(format!("it has no part {wanted}; its parts: {}", names(&entries))));
        };
        if file.file_name() != Some(file.as_os_str()) {
            return Err(bad(format!(
                "the file of the part {wanted} is `{}`, and must be the name of a file beside it",
                file.display()
            )));
        }
        Ok(Self {
            path: path.into(),
            benchmark,
            part: DatasetPart { name: wanted, max_output_tokens },
            file: path.with_file_name(file),
            samples,
            sha256,
        })
    }
}

/// Part of a data set, whose samples are compared with their manifest as they are read.
pub(super) struct PartDataset {
    data: VerifiedDataset,
    part: DatasetPart,
    prepared: Provenance,
}

impl PartDataset {
    /// Creates the data set. Fails if `data`, the samples in the file, are not those that the TOML
    /// file describes.
    pub(super) fn new(data: Box<dyn Dataset>, listed: ListedPart) -> Result<Self, DatasetError> {
        let ListedPart { path, benchmark, part, file, samples, sha256 } = listed;
        let unreadable = |path: &Path, error| DatasetError::Unreadable { path: path.into(), error };
        let bad = |why: String| DatasetError::BadParts {
            path: path.clone(),
            why: format!("part {}: {} {why}", part.name, file.display()),
        };
        let count = data.sample_count() as u64;
        if count != samples {
            return Err(bad(format!("has {count} samples, and must have {samples}")));
        }
        let found = files::sha256(&file).map_err(|error| unreadable(&file, error))?;
        if !found.eq_ignore_ascii_case(&sha256) {
            return Err(bad(format!("has the SHA-256 {found}, and must have {sha256}")));
        }
        let Some(manifest) = Manifest::find_beside(&file)? else {
            return Err(bad("has no manifest beside it".into()));
        };
        let prepared = manifest.prepared.clone();
        if prepared.benchmark != benchmark {
            return Err(bad(format!(
                "was prepared for {}, not for {benchmark}",
                prepared.benchmark
            )));
        }
        Ok(Self {
            data: VerifiedDataset::new(data, manifest)?,
            part,
            // It is the same for every part, so that runs with two parts are of one data set.
            prepared: Provenance {
                data_set: name(&path),
                manifest_sha256: files::sha256(&path).map_err(|error| unreadable(&path, error))?,
                ..prepared
            },
        })
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Dataset for PartDataset {
    fn name(&self) -> String {
        self.prepared.data_set.clone()
    }

    fn sample_count(&self) -> usize {
        self.data.sample_count()
    }

    fn layout(&self) -> Option<InputLayout> {
        self.data.layout()
    }

    fn sample_bytes(&self, index: usize) -> u64 {
        self.data.sample_bytes(index)
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        self.data.read(index)
    }

    fn prepared(&self) -> Vec<Provenance> {
        vec![self.prepared.clone()]
    }

    fn part(&self) -> Option<DatasetPart> {
        Some(self.part)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{open, open_part, write_ids};

    /// Writes a data set of two parts, with one sample for performance and two for accuracy, and
    /// returns the path of its TOML file. `spoil` changes the TOML file.
    fn written(folder: &Path, spoil: impl Fn(String) -> String) -> String {
        let part = |name: &str, prompts: &[Vec<i32>], limit: u32| {
            let (file, mut bytes) = (format!("oss-{name}.ids"), Vec::new());
            write_ids(&mut bytes, prompts).unwrap();
            fs::write(folder.join(&file), &bytes).unwrap();
            let sample = |prompt: &Vec<i32>| {
                let ids = netdiv_contract::tokens::to_bytes(prompt);
                format!(r#"{{"name": "p", "sha256": "{}"}}"#, files::sha256_of([&ids[..]]))
            };
            let samples: Vec<_> = prompts.iter().map(sample).collect();
            let about = r#""form": 1, "benchmark": "oss", "subset": "validation", "samples_form": "int32", "complete": true"#;
            let manifest = format!("{{{about}, \"samples\": [{}]}}", samples.join(", "));
            fs::write(folder.join(format!("{file}.manifest.json")), manifest).unwrap();
            let (count, sha256) = (prompts.len(), files::sha256_of([&bytes[..]]));
            format!(
                "[{name}]\nfile = \"{file}\"\nsamples = {count}\nmax_output_tokens = {limit}\nsha256 = \"{sha256}\"\n"
            )
        };
        let parts = [
            part("performance", &[vec![1, 2]], 10_240),
            part("accuracy", &[vec![3], vec![4, 5]], 32_768),
        ];
        let path = folder.join("oss.toml");
        let text = format!("form = 1\nbenchmark = \"oss\"\n{}", parts.concat());
        fs::write(&path, spoil(text)).unwrap();
        path.display().to_string()
    }

    #[test]
    fn parts_differ_in_samples_and_limits_and_are_of_one_data_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), |text| text);
        assert!(has_parts(&path) && !has_parts("digits") && !has_parts("/no/such.toml"));
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
            ("samples = 2", "samples = 3", "oss-accuracy.ids has 2 samples, and must have 3"),
            ("oss-accuracy.ids", "oss-performance.ids", "has 1 samples, and must have 2"),
            ("[accuracy]", "[accurate]", "unknown field `accurate`, expected one of"),
            ("[accuracy]", "[TEST07]", "no part accuracy; its parts: performance, TEST07"),
            ("oss-accuracy.ids", "../oss-accuracy.ids", "must be the name of a file beside it"),
            ("oss-accuracy.ids", outside, "must be the name of a file beside it"),
            ("\"oss-accuracy.ids\"", "\"..\"", "must be the name of a file beside it"),
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
    fn without_a_part_the_file_says_which_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), |text| text);
        for name in [path.clone(), format!("{path}+synthetic-ids:2x4")] {
            let error = open(&name).err().expect("refused").to_string();
            assert!(error.contains("lists parts (performance, accuracy)"), "{error}");
        }
    }
}
