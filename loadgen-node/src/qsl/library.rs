//! The Query Sample Library: loaded samples in memory, encoded once, as they are sent over the
//! network.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use loadgen_sys::{Abort, QuerySampleLibrary};
use netdiv_contract::{
    checksum,
    encoding::{self, Encoded, Encoding},
    layout::{self, DataType, InputLayout, element_bytes},
    v1::DescribeResponse,
};
use netdiv_dataset::{Dataset, Sample};
use netdiv_node_common::words::DatasetPart;
use netdiv_qdl::{Expectation, LoadedSamples, SampleSource};
use netdiv_receivers::{Witness, run_failure};
use netdiv_rules::record::{Distribution, Lengths, Prepared};
use parking_lot::{Mutex, RwLock};

use crate::{
    RunError,
    qsl::{part, prompts},
    settings::RunConfig,
};

/// Check before each load of samples; its error ends the run.
pub(crate) type LoadCheck = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Query Sample Library. It encodes samples when LoadGen asks to load them, which is untimed.
pub struct Library {
    dataset: Box<dyn Dataset>,
    encoding: Encoding,
    /// Set if messages have checksums. Loading a sample then also computes the checksum of its
    /// encoded payload.
    checksums: bool,
    performance_samples: usize,
    witness: Option<Arc<Witness>>,
    /// Minimum and maximum length of the loaded samples, encoded, in bytes.
    lengths: Mutex<Option<Lengths>>,
    /// Number of elements in the first tensor of each loaded sample, each sample once, if they can
    /// be token ids: for a language model, the number of tokens in its prompt.
    elements: Mutex<Vec<u64>>,
    /// Number of loads minus number of unloads of each sample: MultiStream loads some samples more
    /// than once.
    loads: Mutex<Vec<usize>>,
    /// Checksum of each sample at its first load. LoadGen may load a sample again for another
    /// series, and it must not have changed.
    first: Mutex<Vec<Option<u32>>>,
    loaded: RwLock<LoadedSamples>,
    pub(crate) before_load: Option<LoadCheck>,
    nodes_take: OnceLock<NodeInput>,
    /// Set while LoadGen has samples that it has not issued, or that are not completed.
    owes_calls: AtomicBool,
}

/// Input that all nodes accept.
struct NodeInput {
    input: InputLayout,
    max_payload_bytes: u64,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Library({}, {} samples)", self.dataset.name(), self.dataset.sample_count())
    }
}

impl Library {
    /// Creates a library of all samples of a data set. Performance mode uses `performance_samples`
    /// of them, or all. The witness records the loaded samples.
    pub(crate) fn new(
        dataset: Box<dyn Dataset>,
        encoding: Encoding,
        checksums: bool,
        performance_samples: Option<usize>,
        witness: Option<Arc<Witness>>,
    ) -> Self {
        let count = dataset.sample_count();
        Self {
            witness,
            lengths: Mutex::new(None),
            elements: Mutex::new(Vec::new()),
            performance_samples: performance_samples.unwrap_or(count).min(count),
            loads: Mutex::new(vec![0; count]),
            first: Mutex::new(vec![None; count]),
            loaded: RwLock::new((0..count).map(|_| None).collect()),
            dataset,
            encoding,
            checksums,
            before_load: None,
            nodes_take: OnceLock::new(),
            owes_calls: AtomicBool::new(false),
        }
    }

    /// Returns the requirements that nodes have to meet to receive these samples.
    pub(crate) fn expectation(&self) -> Expectation {
        let sizes = (0..self.dataset.sample_count()).map(|index| self.dataset.sample_bytes(index));
        Expectation {
            input: self.dataset.layout(),
            encoding: self.encoding,
            longest_payload_bytes: sizes.max().unwrap_or(0),
        }
    }

    /// Sets the input that all nodes accept, to which loading adapts each sample. Call it before
    /// the first load. Fails if the data set does not fit this input.
    pub fn prepare(&self, takes: InputLayout, max_payload_bytes: u64) -> Result<(), String> {
        if let Some(holds) = self.dataset.layout().filter(|holds| !layout::accepts(&takes, holds)) {
            let (takes, holds) = (layout::describe(&takes), layout::describe(&holds));
            return Err(format!("the model takes {takes}, the data set holds {holds}"));
        }
        self.check_lengths(&takes)?;
        if layout::is_packed(&takes) && self.dataset.layout().is_none() {
            return Err(format!(
                "the nodes take {}; give a data set that states the shape of each sample (.npy)",
                layout::describe(&takes)
            ));
        }
        let takes = NodeInput { input: takes, max_payload_bytes };
        // A second call would find the same nodes.
        let _ = self.nodes_take.set(takes);
        Ok(())
    }

    /// Checks that the nodes accept the token ids of all samples, that their outputs may be as long
    /// as the part of the data set allows, and that they are token ids if the benchmark requires it.
    pub(crate) fn check_tokens(
        &self,
        config: &RunConfig,
        nodes: &[&DescribeResponse],
    ) -> Result<(), RunError> {
        prompts::check_responses(config, nodes)?;
        part::check_announced(&self.dataset.name(), self.part(), nodes)?;
        prompts::check_announced(self.dataset.as_ref(), nodes)
    }

    /// Checks that samples without a layout have the length of the only tensor that the model
    /// accepts.
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

    /// Returns the flag that is set while LoadGen still has to make calls. It is set when the test
    /// begins and when samples are loaded, which LoadGen does before each series. The system under
    /// test clears it at the end of the series.
    pub fn owes_calls(&self) -> &AtomicBool {
        &self.owes_calls
    }

    pub(crate) fn total_samples(&self) -> usize {
        self.dataset.sample_count()
    }

    /// Returns the minimum and maximum length of the loaded samples, encoded, in bytes.
    pub(crate) fn lengths(&self) -> Option<Lengths> {
        *self.lengths.lock()
    }

    /// Returns the distribution of the number of elements in the first tensor of the loaded
    /// samples, each sample counted once; `None` if their tensors are unknown, or not token ids.
    pub(crate) fn elements(&self) -> Option<Distribution> {
        distribution_of(self.elements.lock().clone())
    }

    /// Returns the part of the data set that the samples are, if it has parts.
    pub(crate) fn part(&self) -> Option<DatasetPart> {
        self.dataset.part()
    }

    pub(crate) fn layout(&self) -> Option<InputLayout> {
        self.dataset.layout()
    }

    fn note_length(&self, bytes: u64) {
        let mut lengths = self.lengths.lock();
        let known = lengths.get_or_insert(Lengths { least: bytes, most: bytes });
        *known = Lengths { least: known.least.min(bytes), most: known.most.max(bytes) };
    }

    /// Compares a sample with its first load, because all series of a run have the same samples.
    /// Returns true for the first load.
    fn compare_with_first(&self, index: usize, payload: &Bytes) -> Result<bool, String> {
        let now = checksum::payload_checksum(payload);
        let mut all = self.first.lock();
        let Some(first) = all.get_mut(index) else { return Ok(false) };
        let is_first = first.is_none();
        if *first.get_or_insert(now) == now {
            return Ok(is_first);
        }
        Err(format!(
            "sample {index} of {} has changed since it was loaded first. Do not write to a data set that is in use",
            self.dataset.name()
        ))
    }

    /// Returns the facts that the data set's manifests state.
    pub(crate) fn prepared(&self) -> Vec<Prepared> {
        let said = self.dataset.prepared().into_iter();
        said.map(|said| Prepared {
            data_set: said.data_set,
            benchmark: said.benchmark,
            subset: said.subset,
            samples_form: said.samples_form,
            complete: said.complete,
            manifest_sha256: said.manifest_sha256,
        })
        .collect()
    }

    /// Returns the number of elements of a sample's first tensor, if they can be token ids.
    fn elements_of(&self, sample: &Sample) -> Option<u64> {
        let Sample::Tensors(tensors) = sample else { return None };
        let layout = self.dataset.layout()?;
        let data_type = layout.tensors.first()?.data_type();
        let can_be_id = matches!(data_type, DataType::Int32 | DataType::Int64);
        let elements = tensors.first()?.data.len().checked_div(element_bytes(data_type))?;
        can_be_id.then_some(elements as u64)
    }

    fn load(&self, index: usize) -> Result<Encoded, String> {
        let sample = self.dataset.read(index).map_err(|error| error.to_string())?;
        let elements = self.elements_of(&sample);
        let takes = self.nodes_take.get();
        let any = InputLayout::default();
        let payload = sample.into_payload(takes.map_or(&any, |takes| &takes.input));
        if self.compare_with_first(index, &payload)? {
            self.elements.lock().extend(elements);
        }
        let decoded = payload.len();
        let mut sample =
            encoding::encode(self.encoding, payload).map_err(|error| error.to_string())?;
        sample.crc32c = self.checksums.then(|| checksum::payload_checksum(&sample.bytes));
        if let Some(witness) = &self.witness {
            witness.record_load(index, &sample.bytes);
        }
        self.note_length(sample.bytes.len() as u64);
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
        if let Some(check) = &self.before_load {
            check().map_err(run_failure)?;
        }
        self.owes_calls.store(true, Ordering::SeqCst);
        self.change(|loads, samples| {
            for &index in indices {
                let none = || {
                    Abort(format!(
                        "LoadGen asks for sample {index}, which the data set does not have"
                    ))
                };
                let times = loads.get_mut(index).ok_or_else(none)?;
                if *times == 0 {
                    samples[index] = Some(self.load(index).map_err(run_failure)?);
                }
                *times += 1;
            }
            Ok(())
        })
    }

    fn unload_samples(&self, indices: &[usize]) -> Result<(), Abort> {
        self.change(|loads, samples| {
            for &index in indices {
                match loads.get_mut(index) {
                    Some(1) => samples[index] = None,
                    None | Some(0) => continue,
                    Some(_) => {}
                }
                loads[index] -= 1;
            }
            Ok(())
        })
    }
}

impl Library {
    /// Changes the loaded samples by `with`, which receives the loads and the payload of each
    /// sample. LoadGen loads and unloads between series, when no sample is in flight.
    fn change(
        &self,
        with: impl FnOnce(&mut [usize], &mut [Option<Encoded>]) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let mut loads = self.loads.lock();
        let mut samples = self.loaded().to_vec();
        with(&mut loads, &mut samples)?;
        *self.loaded.write() = samples.into();
        Ok(())
    }
}

impl SampleSource for Library {
    fn loaded(&self) -> LoadedSamples {
        self.loaded.read().clone()
    }
}

/// Returns the exact distribution of values; `None` without a value.
fn distribution_of(mut values: Vec<u64>) -> Option<Distribution> {
    values.sort_unstable();
    let max = *values.last()?;
    let at = |quantile: f64| {
        let rank = (quantile * values.len() as f64).ceil() as usize;
        values[rank.clamp(1, values.len()) - 1]
    };
    Some(Distribution {
        mean: values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p99_9: at(0.999),
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdiv_dataset as dataset;

    #[test]
    fn samples_are_there_as_often_as_they_were_loaded() {
        let library = Library::new(
            dataset::open("synthetic:4x16").unwrap(),
            Encoding::Zstd,
            true,
            None,
            None,
        );
        let loaded = |index: usize| library.loaded()[index].clone();
        library.load_samples(&[0, 1, 1]).unwrap();
        assert!(loaded(2).is_none());
        library.unload_samples(&[0, 1]).unwrap();
        assert!(loaded(0).is_none());
        assert_eq!(loaded(1).unwrap().decoded_bytes, 16);
        library.unload_samples(&[1]).unwrap();
        assert!(loaded(1).is_none());
        assert!(library.load_samples(&[4]).is_err());
    }

    #[test]
    fn a_sample_that_is_loaded_twice_is_in_memory_once_and_is_the_same_in_every_series() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.bin");
        std::fs::write(&path, "one").unwrap();
        let data = dataset::open(&folder.path().display().to_string()).unwrap();
        let library = Library::new(data, Encoding::None, false, None, None);
        let place = || library.loaded()[0].as_ref().unwrap().bytes.as_ptr();
        library.load_samples(&[0]).unwrap();
        let first = place();
        // Whatever happens to the file, loaded samples stay.
        std::fs::write(&path, "two").unwrap();
        library.load_samples(&[0, 0]).unwrap();
        assert_eq!(place(), first);
        assert_eq!(library.loaded()[0].as_ref().unwrap().bytes, "one");
        library.unload_samples(&[0, 0, 0]).unwrap();
        let Abort(error) = library.load_samples(&[0]).unwrap_err();
        assert!(error.contains("sample 0 of") && error.contains("loaded first"), "{error}");
        std::fs::write(&path, "three").unwrap();
        let Abort(error) = library.load_samples(&[0]).unwrap_err();
        assert!(error.contains("0.bin has changed since"), "{error}");
    }

    #[test]
    fn quantiles_are_values() {
        assert!(distribution_of(Vec::new()).is_none());
        let of = distribution_of((1..=1000).rev().collect()).unwrap();
        let Distribution { mean, p50, p90, p99, p99_9, max } = of;
        assert_eq!((mean, p50, p90, p99, p99_9, max), (500.5, 500, 900, 990, 999, 1000));
        let one = distribution_of(vec![7]).unwrap();
        assert_eq!((one.mean, one.p50, one.p99_9, one.max), (7.0, 7, 7, 7));
    }
}
