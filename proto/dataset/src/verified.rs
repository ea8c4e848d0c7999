//! Data set whose samples are compared with their manifest as they are read.

use netdiv_contract::layout::InputLayout;
use netdiv_node_common::{resources::files, words::DatasetPart};

use crate::{
    error::DatasetError,
    manifest::{Manifest, Provenance},
    sample::{Dataset, Sample},
};

pub(super) struct VerifiedDataset {
    data: Box<dyn Dataset>,
    manifest: Manifest,
    /// Part that the samples are, of a data set that has parts.
    pub(super) part: Option<DatasetPart>,
}

impl VerifiedDataset {
    pub(super) fn new(data: Box<dyn Dataset>, manifest: Manifest) -> Result<Self, DatasetError> {
        let (has, says) = (data.sample_count(), manifest.samples.len());
        if has != says {
            let why = format!("its number of samples is {says}, that of the data set {has}");
            return Err(DatasetError::BadManifest { path: manifest.path, why });
        }
        Ok(Self { data, manifest, part: None })
    }
}

impl Dataset for VerifiedDataset {
    fn name(&self) -> String {
        match self.part {
            Some(_) => self.manifest.prepared.data_set.clone(),
            None => self.data.name(),
        }
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
        let sample = self.data.read(index)?;
        let digest = match &sample {
            Sample::Bytes(bytes) => files::sha256_of([bytes.as_ref()]),
            Sample::Tensors(tensors) => files::sha256_of(tensors.iter().map(|one| &*one.data)),
        };
        let known = &self.manifest.samples[index];
        if digest == known.sha256 {
            return Ok(sample);
        }
        Err(DatasetError::SampleDiffers {
            index,
            name: known.name.clone(),
            manifest: self.manifest.path.clone(),
        })
    }

    fn prepared(&self) -> Vec<Provenance> {
        vec![self.manifest.prepared.clone()]
    }

    fn part(&self) -> Option<DatasetPart> {
        self.part
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use netdiv_node_common::resources::files;

    use crate::{Provenance, open};

    /// Writes a folder with two samples and their manifest. `spoil` changes the manifest's text.
    fn prepared(folder: &Path, spoil: impl Fn(String) -> String) -> String {
        let data = folder.join("set");
        fs::create_dir_all(&data).unwrap();
        let sample = |name: &str, content: &str| {
            fs::write(data.join(name), content).unwrap();
            let digest = files::sha256_of([content.as_bytes()]);
            format!(r#"{{"name": "{name}", "sha256": "{digest}"}}"#)
        };
        let samples = [sample("a", "first"), sample("b", "second")].join(", ");
        let about = r#""form": 1, "benchmark": "bert", "subset": "validation", "samples_form": "ids", "complete": true"#;
        let text = spoil(format!("{{{about}, \"licence\": \"x\", \"samples\": [{samples}]}}"));
        fs::write(folder.join("set.manifest.json"), text).unwrap();
        data.display().to_string()
    }

    #[test]
    fn samples_are_those_of_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let name = prepared(folder.path(), |text| text);
        for name in [&name, &format!("{name}/"), &format!("{name}/../set/.")] {
            let data = open(name).unwrap();
            assert!(data.read(0).is_ok() && data.read(1).is_ok());
            let [Provenance { data_set, benchmark, complete, manifest_sha256, .. }] =
                &data.prepared()[..]
            else {
                panic!("one manifest")
            };
            assert_eq!((&**data_set, &**benchmark, *complete), ("set", "bert", true));
            let manifest = folder.path().join("set.manifest.json");
            assert_eq!(*manifest_sha256, files::sha256(&manifest).unwrap());
        }
        fs::write(folder.path().join("set/b"), "Second").unwrap();
        let data = open(&name).unwrap();
        assert!(data.read(0).is_ok());
        let error = data.read(1).unwrap_err().to_string();
        assert!(error.contains("sample 1 (b) is not the one in"), "{error}");
    }

    #[test]
    fn through_a_link_samples_are_those_of_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let name = prepared(folder.path(), |text| text);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&name, &link).unwrap();
        let link = link.display().to_string();
        assert_eq!(open(&link).unwrap().prepared()[0].benchmark, "bert");
        fs::write(folder.path().join("set/a"), "First").unwrap();
        assert!(open(&link).unwrap().read(0).is_err());
        // Two manifests that differ are refused, because either may be wrong.
        let manifest = fs::read_to_string(folder.path().join("set.manifest.json")).unwrap();
        fs::write(folder.path().join("link.manifest.json"), manifest.replace("bert", "gptj"))
            .unwrap();
        let error = open(&link).err().expect("refused").to_string();
        assert!(error.contains("belong to one file, and differ"), "{error}");
    }

    #[test]
    fn a_manifest_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for (from, to, why) in [
            (r#""form": 1"#, r#""form": 2"#, "it has form 2, and only form 1 is supported"),
            (r#""complete": true, "#, "", "missing field `complete`"),
            (
                r#"{"name": "a""#,
                r#"{"name": "c", "sha256": ""}, {"name": "a""#,
                "its number of samples is 3, that of the data set 2",
            ),
            ("{", "", "expected"),
        ] {
            let name = prepared(folder.path(), |text| text.replacen(from, to, 1));
            let error = open(&name).err().expect("refused").to_string();
            assert!(error.contains(why) && error.contains("remove that file"), "{error}");
        }
    }
}
