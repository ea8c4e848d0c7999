//! The Query Sample Library: loaded samples in memory, encoded once, as they will go over the network.

use std::sync::{
    OnceLock, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use loadgen_sys::{Abort, QuerySampleLibrary};
use netdiv_proto::{
    encoding::{self, Encoded, Encoding},
    layout::{self, InputLayout, TensorView},
};
use netdiv_qdl::{Expectation, NodeInfo, SampleSource};

use crate::dataset::Dataset;

/// The QSL. Encoding happens when LoadGen asks for samples to be loaded, which is untimed.
pub(crate) struct Library {
    dataset: Box<dyn Dataset>,
    encoding: Encoding,
    performance_samples: usize,
    loaded: RwLock<Vec<Option<Loaded>>>,
    nodes_take: OnceLock<Takes>,
    /// Set while LoadGen has samples that it has not issued, or not got back.
    owes_calls: AtomicBool,
}

struct Loaded {
    sample: Encoded,
    /// MultiStream loads and unloads some samples more than once.
    times: usize,
}

/// What all nodes take.
struct Takes {
    /// Samples are tensors with a table in front (`netdiv_proto::layout`).
    packed: bool,
    max_payload_bytes: u64,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Library({}, {} samples)", self.dataset.name(), self.dataset.sample_count())
    }
}

impl Library {
    /// A library of all samples of a data set; `performance_samples` of them are used in performance mode.
    pub(crate) fn new(
        dataset: Box<dyn Dataset>,
        encoding: Encoding,
        performance_samples: Option<usize>,
    ) -> Self {
        let count = dataset.sample_count();
        Self {
            performance_samples: performance_samples.unwrap_or(count).min(count),
            loaded: RwLock::new((0..count).map(|_| None).collect()),
            dataset,
            encoding,
            nodes_take: OnceLock::new(),
            owes_calls: AtomicBool::new(false),
        }
    }

    /// What nodes must accept to be sent these samples.
    pub(crate) fn expectation(&self) -> Expectation {
        let sizes = (0..self.dataset.sample_count()).map(|index| self.dataset.sample_bytes(index));
        Expectation {
            input: self.dataset.layout(),
            encoding: self.encoding,
            longest_payload_bytes: sizes.max().unwrap_or(0),
        }
    }

    /// Fits the samples to the nodes, which agree with each other; before the first load.
    pub(crate) fn prepare(&self, nodes: &[NodeInfo]) -> Result<(), String> {
        let takes = nodes.first().and_then(|node| node.description.input.clone());
        let takes = takes.unwrap_or_default();
        self.check_lengths(&takes)?;
        let limits = nodes.iter().map(|node| node.description.max_payload_bytes);
        let packed = !takes.tensors.is_empty() && layout::raw_tensor(&takes).is_none();
        if packed && self.dataset.layout().is_none() {
            return Err(format!(
                "the nodes take {}; give a data set that says the shape of each sample (.npy)",
                layout::describe(&takes)
            ));
        }
        let takes = Takes { packed, max_payload_bytes: limits.min().unwrap_or(u64::MAX) };
        // A second call would find the same nodes.
        let _ = self.nodes_take.set(takes);
        Ok(())
    }

    /// Samples of unknown meaning must at least have the length of the model's tensor.
    fn check_lengths(&self, takes: &InputLayout) -> Result<(), String> {
        let spec = layout::raw_tensor(takes).filter(|_| self.dataset.layout().is_none());
        let Some(want) = spec.and_then(layout::fixed_bytes) else { return Ok(()) };
        for index in 0..self.dataset.sample_count() {
            let bytes = self.dataset.sample_bytes(index);
            if bytes != want as u64 {
                let takes = layout::describe(takes);
                return Err(format!(
                    "sample {index} has {bytes} bytes, but the nodes take {takes}, which is {want}; \
                     choose the data set of their model"
                ));
            }
        }
        Ok(())
    }

    /// Set by loading samples, which LoadGen does before each series; to be cleared at the series' end.
    pub(crate) fn owes_calls(&self) -> &AtomicBool {
        &self.owes_calls
    }

    /// Number of samples in the data set.
    pub(crate) fn total_samples(&self) -> usize {
        self.dataset.sample_count()
    }

    fn load(&self, index: usize) -> Result<Encoded, String> {
        let mut payload = self.dataset.read(index).map_err(|error| error.to_string())?;
        let takes = self.nodes_take.get();
        if takes.is_some_and(|takes| takes.packed)
            && let Some((data_type, shape)) = self.dataset.shape(index)
        {
            payload = layout::pack(&[TensorView { data_type, shape, data: &payload }]);
        }
        let decoded = payload.len();
        let sample = encoding::encode(self.encoding, payload).map_err(|error| error.to_string())?;
        let longest = decoded.max(sample.bytes.len()) as u64;
        match takes {
            Some(takes) if longest > takes.max_payload_bytes => {
                let limit = takes.max_payload_bytes;
                Err(format!("sample {index} has {longest} bytes, a node takes at most {limit}"))
            }
            _ => Ok(sample),
        }
    }
}

impl QuerySampleLibrary for Library {
    fn name(&self) -> String {
        self.dataset.name()
    }

    fn total_sample_count(&self) -> usize {
        self.dataset.sample_count()
    }

    fn performance_sample_count(&self) -> usize {
        self.performance_samples
    }

    fn load_samples(&self, indices: &[usize]) -> Result<(), Abort> {
        self.owes_calls.store(true, Ordering::SeqCst);
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        for &index in indices {
            let place = loaded
                .get_mut(index)
                .ok_or_else(|| Abort(format!("LoadGen asks for sample {index}, which is none")))?;
            match place {
                Some(present) => present.times += 1,
                None => {
                    let sample = self.load(index).map_err(Abort)?;
                    *place = Some(Loaded { sample, times: 1 });
                }
            }
        }
        Ok(())
    }

    fn unload_samples(&self, indices: &[usize]) -> Result<(), Abort> {
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        for place in indices {
            let Some(place) = loaded.get_mut(*place) else { continue };
            if let Some(present) = place {
                present.times -= 1;
                if present.times == 0 {
                    *place = None;
                }
            }
        }
        Ok(())
    }
}

impl SampleSource for Library {
    fn payload(&self, index: usize) -> Option<Encoded> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.get(index)?.as_ref().map(|loaded| loaded.sample.clone())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dataset;

    #[test]
    fn samples_are_there_as_often_as_they_were_loaded() {
        let library = Library::new(dataset::open("synthetic:4x16").unwrap(), Encoding::Zstd, None);
        library.load_samples(&[0, 1, 1]).unwrap();
        assert!(library.payload(2).is_none());
        library.unload_samples(&[0, 1]).unwrap();
        assert!(library.payload(0).is_none());
        assert_eq!(library.payload(1).unwrap().decoded_bytes, 16);
        library.unload_samples(&[1]).unwrap();
        assert!(library.payload(1).is_none());
        assert!(library.load_samples(&[4]).is_err());
    }
}
