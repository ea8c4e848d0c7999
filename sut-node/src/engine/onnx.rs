//! Engine that runs models in ONNX format on the CPU, with the pure-Rust runtime rten.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use clap::ValueEnum;
use netdiv_contract::layout::{self, DataType, InputLayout, Tensor, TensorSpec};
use rten::{Dimension, NodeId, RunOptions, ThreadPool, Value, ValueType, ValueView};
use rten_tensor::{AsView as _, Layout as _};
use serde::Serialize;

use crate::{
    engine::{
        interface::{BatchAnswers, BatchRunner, EngineKind, SequentialEngine},
        onnx_file::{OnnxFile, RTEN},
        settings::{EngineSettings, NodeSettings, check_model_file},
        shared_args::Given,
    },
    ground::{error::EngineError, range::MILLISECOND},
    model::{identity::Model, payload::Payload, workloads::classification::first_largest},
};

/// Keys of the engine `onnx`.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Model in ONNX format")]
pub struct OnnxArgs {
    /// Conversion of the model's first output to a response
    #[arg(long, default_value = "top1")]
    pub postprocess: Postprocess,
}

/// Conversion of a model's first output to the response of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Postprocess {
    /// Index of the largest element, as int32
    Top1,
    /// Bytes of the elements, unchanged
    None,
}

/// Settings of the engine `onnx`, which runs a model in ONNX format.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename = "onnx")]
pub struct OnnxConfig {
    /// Path of the model file; `None`: the embedded digits network.
    #[serde(skip)]
    pub model: Option<PathBuf>,
    /// Conversion of the first output to a response.
    pub postprocess: Postprocess,
    /// Number of threads of an instance.
    pub threads: usize,
}

impl OnnxConfig {
    pub(super) const KEYS: &[&str] = &["model", "threads", "batch_timeout"];

    pub(super) fn resolve(keys: &OnnxArgs, given: &mut Given<'_>) -> anyhow::Result<Self> {
        given.default_batching = (32, MILLISECOND);
        Ok(Self {
            model: given.model_or(netdiv_dataset::DIGITS)?.map(Into::into),
            postprocess: keys.postprocess,
            threads: given.threads()?,
        })
    }
}

impl EngineSettings for OnnxConfig {
    fn check(&self, _: &NodeSettings) -> Result<(), EngineError> {
        self.model.as_deref().map_or(Ok(()), check_model_file)
    }

    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        let model = Arc::new(OnnxModel::load(self)?);
        let engine =
            |_| EngineKind::Batched(SequentialEngine::boxed(Onnx::new(model.clone(), self)));
        Ok((model.describe(), (0..node.instances).map(engine).collect()))
    }
}

/// Network of the demo, which `deploy/digits/train.py` writes.
const DIGITS: &[u8] = include_bytes!("../../../deploy/digits/digits.onnx");

/// A loaded model, shared by all instances.
struct OnnxModel {
    file: OnnxFile,
    name: String,
    input: InputLayout,
    /// Set if the model was exported for single samples, without a dynamic batch dimension.
    single_samples: bool,
}

impl OnnxModel {
    fn load(settings: &OnnxConfig) -> Result<Self, EngineError> {
        let (name, file) = match &settings.model {
            None => ("digits".to_owned(), OnnxFile::embedded("digits.onnx", DIGITS)?),
            Some(path) => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                (name, OnnxFile::read(path)?)
            }
        };
        let model = &file.model;
        let mut tensors = Vec::new();
        let mut single = Vec::new();
        for id in model.input_ids() {
            let (spec, is_single) = input_spec(model, *id).map_err(|why| file.unsupported(why))?;
            tensors.push(spec);
            single.push(is_single);
        }
        if tensors.is_empty() || model.output_ids().is_empty() {
            return Err(file.unsupported("it has no input or no output"));
        }
        let input = InputLayout { tensors };
        Ok(Self { file, name, input, single_samples: single.contains(&true) })
    }

    fn describe(&self) -> Model {
        Model {
            framework: RTEN.into(),
            name: self.name.clone(),
            sha256: self.file.sha256.clone(),
            input: self.input.clone(),
            ..Model::any_bytes("onnx")
        }
    }
}

/// Returns the spec of an input for one sample, without the batch dimension, and whether the batch
/// dimension is fixed to one sample.
fn input_spec(model: &rten::Model, id: NodeId) -> Result<(TensorSpec, bool), String> {
    let info = model.node_info(id).ok_or("an input has no description")?;
    let name = info.name().unwrap_or_default().to_owned();
    let data_type = match info.dtype() {
        Some(ValueType::Tensor(rten::DataType::UInt8)) => DataType::Uint8,
        Some(ValueType::Tensor(rten::DataType::Int8)) => DataType::Int8,
        Some(ValueType::Tensor(rten::DataType::Int32)) => DataType::Int32,
        Some(ValueType::Tensor(rten::DataType::Float)) => DataType::Float32,
        other => return Err(format!("its input {name} has the unsupported type {other:?}")),
    };
    let shape = info.shape().ok_or_else(|| format!("its input {name} has no shape"))?;
    let single = match shape.first() {
        Some(Dimension::Symbolic(_)) => false,
        Some(Dimension::Fixed(1)) => true,
        _ => {
            return Err(format!(
                "the first dimension of its input {name} must be the batch: free, or 1"
            ));
        }
    };
    let length = |dimension: &Dimension| match dimension {
        Dimension::Fixed(length) => i64::try_from(*length).unwrap_or(-1),
        Dimension::Symbolic(_) => -1,
    };
    let shape = shape.iter().skip(1).map(length).collect();
    Ok((TensorSpec { name, data_type: data_type as i32, shape }, single))
}

/// An instance of a model in ONNX format.
struct Onnx {
    model: Arc<OnnxModel>,
    threads: Arc<ThreadPool>,
    postprocess: Postprocess,
}

impl Onnx {
    fn new(model: Arc<OnnxModel>, settings: &OnnxConfig) -> Self {
        let threads = Arc::new(ThreadPool::with_num_threads(settings.threads));
        Self { model, threads, postprocess: settings.postprocess }
    }

    /// Runs samples of one shape. Returns a response for each, and the time spent on stacking them.
    fn run(&self, samples: &[&[Tensor<Bytes>]]) -> Result<(Vec<Bytes>, Duration), EngineError> {
        let failed = |why: String| EngineError::Failed(why);
        let started = Instant::now();
        let model = &self.model.file.model;
        let mut inputs = Vec::with_capacity(model.input_ids().len());
        for (place, id) in model.input_ids().iter().enumerate() {
            inputs.push((*id, stack(samples, place)?.into()));
        }
        let prepare = started.elapsed();
        let options = RunOptions::default().with_thread_pool(Some(self.threads.clone()));
        let outputs = &model.output_ids()[..1];
        let output = model
            .run(inputs, outputs, Some(options))
            .map_err(|error| failed(error.to_string()))?
            .pop()
            .ok_or_else(|| failed("the model returned no output".into()))?;
        Ok((split(output.as_view(), samples.len(), self.postprocess)?, prepare))
    }
}

impl BatchRunner for Onnx {
    fn infer(&mut self, batch: &[Payload]) -> Result<BatchAnswers, EngineError> {
        let started = Instant::now();
        let samples: Vec<_> = batch.iter().map(Payload::tensors).collect();
        let groups = group_by_shape(&samples, self.model.single_samples);
        let mut prepare = started.elapsed();
        let mut answers: Vec<_> = batch.iter().map(|_| Ok(Bytes::new())).collect();
        for places in groups {
            let group: Vec<_> = places.iter().map(|place| samples[*place]).collect();
            match self.run(&group) {
                Ok((responses, stacking)) => {
                    prepare += stacking;
                    for (place, answer) in places.into_iter().zip(responses) {
                        answers[place] = Ok(answer);
                    }
                }
                // Groups of another shape may still run.
                Err(error) => {
                    let why = match error {
                        EngineError::Failed(why) => why,
                        other => other.to_string(),
                    };
                    for place in places {
                        answers[place] = Err(EngineError::Failed(why.clone()));
                    }
                }
            }
        }
        Ok(BatchAnswers { answers, token_counts: Vec::new(), prepare })
    }

    /// Runs three batches of two samples of zeros, if the model has one input of a fixed shape. The
    /// first run packs the weights. A model that mixes its samples fails here.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        let Some(spec) = layout::raw_tensor(&self.model.input) else { return Ok(()) };
        let Some(bytes) = layout::fixed_bytes(spec) else { return Ok(()) };
        let zeros = vec![Payload::read(&self.model.input, vec![0; bytes].into())?; 2];
        for _ in 0..3 {
            self.infer(&zeros)
                .and_then(BatchAnswers::responses)
                .map_err(|error| self.model.file.unsupported(error.to_string()))?;
        }
        Ok(())
    }
}

/// Returns groups of samples that can run together, by their indices: samples of equal shapes, or
/// each sample alone if `single` is set.
fn group_by_shape(samples: &[&[Tensor<Bytes>]], single: bool) -> Vec<Vec<usize>> {
    if single {
        return (0..samples.len()).map(|place| vec![place]).collect();
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<Vec<&[usize]>, usize> = HashMap::new();
    for (place, tensors) in samples.iter().enumerate() {
        let shapes = tensors.iter().map(|tensor| tensor.shape.as_slice()).collect();
        let group = *group_of.entry(shapes).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(place);
    }
    groups
}

/// Joins input number `place` of all samples into one tensor, with the batch as first dimension.
fn stack(samples: &[&[Tensor<Bytes>]], place: usize) -> Result<Value, EngineError> {
    let first = &samples[0][place];
    let mut shape = vec![samples.len()];
    shape.extend(&first.shape);
    let parts = samples.iter().map(|tensors| &tensors[place].data[..]);
    match first.data_type {
        DataType::Uint8 => value(&shape, collect(parts, u8::from_le_bytes)),
        DataType::Int8 => value(&shape, collect(parts, i8::from_le_bytes)),
        DataType::Int32 => value(&shape, collect(parts, i32::from_le_bytes)),
        DataType::Float32 => value(&shape, collect(parts, f32::from_le_bytes)),
        other => {
            let name = layout::type_name(other);
            Err(EngineError::Failed(format!("{name} inputs are not supported")))
        }
    }
}

fn value<T>(shape: &[usize], data: Vec<T>) -> Result<Value, EngineError>
where
    Value: From<rten_tensor::Tensor<T>>,
{
    Value::from_shape(shape, data).map_err(|error| EngineError::Failed(error.to_string()))
}

/// Decodes the elements of all parts one after the other, each from `N` little-endian bytes.
fn collect<'a, T, const N: usize>(
    parts: impl Iterator<Item = &'a [u8]>,
    element: impl Fn([u8; N]) -> T,
) -> Vec<T> {
    parts.flat_map(|part| part.as_chunks::<N>().0).map(|bytes| element(*bytes)).collect()
}

/// Divides the output among the samples. Returns each sample's response.
fn split(
    output: ValueView<'_>,
    samples: usize,
    postprocess: Postprocess,
) -> Result<Vec<Bytes>, EngineError> {
    let shape = output.shape();
    if shape.first() != Some(&samples) {
        let shape = shape.as_ref();
        let why = format!(
            "its output has the shape {shape:?}; the first dimension must be the batch, {samples}"
        );
        return Err(EngineError::Failed(why));
    }
    match output {
        ValueView::FloatTensor(t) => responses(&t.to_vec(), samples, postprocess, f32::to_le_bytes),
        ValueView::Int32Tensor(t) => responses(&t.to_vec(), samples, postprocess, i32::to_le_bytes),
        ValueView::Int8Tensor(t) => responses(&t.to_vec(), samples, postprocess, i8::to_le_bytes),
        ValueView::UInt8Tensor(t) => responses(&t.to_vec(), samples, postprocess, u8::to_le_bytes),
        _ => Err(EngineError::Failed("its output is not a tensor".into())),
    }
}

fn responses<T: PartialOrd + Copy, const N: usize>(
    elements: &[T],
    samples: usize,
    postprocess: Postprocess,
    bytes: impl Fn(T) -> [u8; N],
) -> Result<Vec<Bytes>, EngineError> {
    let each = elements.len() / samples;
    if each == 0 {
        return Err(EngineError::Failed("its output has no elements".into()));
    }
    let response = |part: &[T]| match postprocess {
        Postprocess::None => part.iter().flat_map(|element| bytes(*element)).collect(),
        Postprocess::Top1 => Bytes::copy_from_slice(&(first_largest(part) as i32).to_le_bytes()),
    };
    Ok(elements.chunks_exact(each).map(response).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::onnx_file::tests::write_beside;

    fn digits() -> OnnxConfig {
        OnnxConfig { model: None, postprocess: Postprocess::Top1, threads: 1 }
    }

    #[test]
    fn the_embedded_model_says_what_it_takes() {
        let model = OnnxModel::load(&digits()).unwrap().describe();
        assert_eq!(layout::describe(&model.input), "uint8[1, 8, 8]");
        assert_eq!((model.name.as_str(), model.sha256.len()), ("digits", 64));
    }

    #[test]
    fn a_batch_gives_the_same_answers_as_its_samples_alone() {
        let model = Arc::new(OnnxModel::load(&digits()).unwrap());
        let settings = OnnxConfig { postprocess: Postprocess::None, ..digits() };
        let mut engine = Onnx::new(model.clone(), &settings);
        let batch: Vec<_> = (0..5_u8)
            .map(|n| Payload::read(&model.input, vec![n * 3; 64].into()).unwrap())
            .collect();
        let together = engine.infer(&batch).unwrap().responses().unwrap();
        for (sample, answer) in batch.into_iter().zip(together) {
            let alone = engine.infer(&[sample]).unwrap().responses().unwrap().remove(0);
            assert_eq!((answer.len(), alone.len()), (40, 40), "ten logits");
            // The order of summation may differ (rules, section 2.4).
            for (a, b) in answer.as_chunks().0.iter().zip(alone.as_chunks().0) {
                assert!((f32::from_le_bytes(*a) - f32::from_le_bytes(*b)).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn weights_beside_the_model_give_the_same_answers() {
        let folder = tempfile::tempdir().unwrap();
        let path = write_beside(DIGITS, folder.path(), "weights.bin");
        let answers = |model| {
            let settings = OnnxConfig { model, postprocess: Postprocess::None, ..digits() };
            let model = Arc::new(OnnxModel::load(&settings)?);
            let sample = Payload::read(&model.input, vec![3; 64].into())?;
            Onnx::new(model, &settings).infer(&[sample]).and_then(BatchAnswers::responses)
        };
        assert_eq!(answers(Some(path.clone())).unwrap(), answers(None).unwrap());
        std::fs::remove_file(folder.path().join("weights.bin")).unwrap();
        let error = answers(Some(path)).unwrap_err().to_string();
        assert!(
            error.contains("model.onnx cannot be loaded as an ONNX model: cannot read /"),
            "{error}"
        );
    }

    #[test]
    fn samples_of_one_shape_run_together() {
        let tensor = |length: usize| {
            vec![Tensor { data_type: DataType::Uint8, shape: vec![length], data: Bytes::new() }]
        };
        let samples = [tensor(1), tensor(2), tensor(1)];
        let samples: Vec<_> = samples.iter().map(Vec::as_slice).collect();
        assert_eq!(group_by_shape(&samples, false), [vec![0, 2], vec![1]]);
        assert_eq!(group_by_shape(&samples, true), [[0], [1], [2]]);
    }
}
