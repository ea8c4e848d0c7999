//! Join of several data sets: a sample has the tensors of the samples with the same index.

use netdiv_contract::layout::InputLayout;

use crate::{
    error::DatasetError,
    manifest::Provenance,
    sample::{Dataset, Sample},
};

pub(super) struct JoinedDataset {
    name: String,
    parts: Vec<Box<dyn Dataset>>,
    layout: InputLayout,
}

impl JoinedDataset {
    pub(super) fn new(name: &str, parts: Vec<Box<dyn Dataset>>) -> Result<Self, DatasetError> {
        let cannot = |why: String| DatasetError::CannotJoin(format!("{name}: {why}"));
        let count = parts.first().map_or(0, |part| part.sample_count());
        let mut tensors = Vec::new();
        for part in &parts {
            if part.sample_count() != count {
                let (name, other) = (part.name(), part.sample_count());
                return Err(cannot(format!("{name} has the length {other}, the first {count}")));
            }
            let layout = part.layout().ok_or_else(|| {
                cannot(format!(
                    "{} has no tensors; only .npy files and folders of .npy files can be joined",
                    part.name()
                ))
            })?;
            tensors.extend(layout.tensors);
        }
        Ok(Self { name: name.into(), parts, layout: InputLayout { tensors } })
    }
}

impl Dataset for JoinedDataset {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sample_count(&self) -> usize {
        self.parts[0].sample_count()
    }

    fn layout(&self) -> Option<InputLayout> {
        Some(self.layout.clone())
    }

    fn sample_bytes(&self, index: usize) -> u64 {
        self.parts.iter().map(|part| part.sample_bytes(index)).sum()
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        let mut tensors = Vec::new();
        for part in &self.parts {
            if let Sample::Tensors(own) = part.read(index)? {
                tensors.extend(own);
            }
        }
        Ok(Sample::Tensors(tensors))
    }

    fn prepared(&self) -> Vec<Provenance> {
        self.parts.iter().flat_map(|part| part.prepared()).collect()
    }
}

#[cfg(test)]
mod tests {
    use netdiv_contract::layout;

    use crate::open;

    fn npy(folder: &std::path::Path, name: &str, shape: &str, bytes: &[u8]) -> String {
        let path = folder.join(name);
        let file = crate::npy_file::npy("|u1", shape, bytes.iter().copied());
        std::fs::write(&path, file).unwrap();
        path.display().to_string()
    }

    #[test]
    fn a_sample_has_a_tensor_of_each() {
        let folder = tempfile::tempdir().unwrap();
        let ids = npy(folder.path(), "ids.npy", "(2, 3)", &[1, 2, 3, 4, 5, 6]);
        let mask = npy(folder.path(), "mask.npy", "(2, 1)", &[7, 8]);
        let data = open(&format!("{ids}+{mask}")).unwrap();
        let layout = data.layout().unwrap();
        assert_eq!(layout::describe(&layout), "uint8[3] + uint8[1]");
        let payload = data.read(1).unwrap().into_payload(&layout);
        let tensors = layout::read(&layout, &payload).unwrap();
        assert_eq!((tensors[0].data, tensors[1].data), (&[4, 5, 6][..], &[8][..]));

        let short = npy(folder.path(), "short.npy", "(1, 1)", &[0]);
        let error = open(&format!("{ids}+{short}")).err().unwrap().to_string();
        assert!(error.contains("short.npy has the length 1, the first 2"), "{error}");
        let error = open(&format!("{ids}+synthetic:2x5")).err().unwrap().to_string();
        assert!(error.contains("has no tensors"), "{error}");
    }
}
