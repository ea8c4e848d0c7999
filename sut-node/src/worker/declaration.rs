//! Declaration of an engine in Python: what its class states, as the worker sends it.

use std::{collections::BTreeMap, sync::Arc};

use netdiv_contract::{
    layout::{DataType, InputLayout},
    limits::MAX_BATCH,
    names_fault,
    v1::DescribeResponse,
};
use netdiv_node_common::words::PrefixCaching;
use serde::{Deserialize, Serialize};

use crate::model::{
    manifest::{Shape, TensorEntry, number_of},
    served_model::ServedModel,
};

/// Declaration as the worker sends it. A model of tensors uses only the name in `served`.
#[derive(Debug, Deserialize)]
struct Declared {
    #[serde(flatten)]
    served: ServedModel,
    is_language_model: bool,
    max_batch: usize,
    framework: String,
    inputs: Vec<TensorEntry>,
    outputs: Vec<TensorEntry>,
    max_lengths: BTreeMap<String, usize>,
    counts_tokens: bool,
    prefix_caching: Option<bool>,
}

/// Declaration of an engine in Python, checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Declaration {
    /// Model that the engine runs.
    #[serde(flatten)]
    pub(crate) model: DeclaredModel,
    /// Maximum number of samples in a batch, or of samples in flight of a language model.
    #[serde(skip)]
    pub(crate) max_batch: usize,
    /// Framework as the class names it; may be empty.
    #[serde(skip)]
    pub(crate) framework: String,
}

/// Model of an engine in Python.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum DeclaredModel {
    /// Tensors in, a tensor out.
    Tensors(Arc<DeclaredTensors>),
    /// Token ids in and out.
    Tokens {
        /// Name and limits of the model.
        #[serde(flatten)]
        served: ServedModel,
        /// Prefix caching, as the class states it.
        #[serde(skip)]
        prefix_caching: PrefixCaching,
    },
}

/// Tensors of an engine in Python.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct DeclaredTensors {
    pub(crate) name: String,
    pub(crate) inputs: Vec<Shape>,
    pub(crate) output: Shape,
    /// Maximum lengths of the named dimensions, by their numbers in the shapes.
    pub(crate) max_lengths: Vec<usize>,
    /// True if the engine returns the number of the model's tokens beside each output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) counts_tokens: bool,
}

impl Declaration {
    /// Reads the declaration that a worker has sent. The worker has checked it, except for names
    /// that LoadGen nodes refuse.
    pub(super) fn read(json: &[u8]) -> Result<Self, String> {
        let declared: Declared =
            serde_json::from_slice(json).map_err(|error| format!("its declaration: {error}"))?;
        let declaration = declared.check()?;
        match names_fault(&declaration.describe()) {
            None => Ok(declaration),
            Some(why) => Err(format!(
                "LoadGen nodes would refuse its names: {why}; change `name`, or the names of its tensors"
            )),
        }
    }

    /// Returns the declaration of an engine that was not asked. It permits all settings.
    pub(crate) fn unknown() -> Self {
        let (name, data_type, dimensions) = (String::new(), DataType::Uint8, Vec::new());
        let output = Shape { name: name.clone(), data_type, dimensions };
        let (inputs, max_lengths) = (Vec::new(), Vec::new());
        let tensors = DeclaredTensors { name, inputs, output, max_lengths, counts_tokens: false };
        let model = DeclaredModel::Tensors(Arc::new(tensors));
        Self { model, max_batch: MAX_BATCH, framework: String::new() }
    }

    /// Describes the engine, as far as its names are concerned.
    fn describe(&self) -> DescribeResponse {
        let (model_name, input) = match &self.model {
            DeclaredModel::Tensors(model) => (model.name.clone(), Some(model.layout())),
            DeclaredModel::Tokens { served, .. } => (served.name.clone(), None),
        };
        let engine = "python".into();
        DescribeResponse { engine, model_name, input, ..DescribeResponse::default() }
    }

    /// Returns true if samples are prompts.
    pub(crate) fn is_language_model(&self) -> bool {
        matches!(self.model, DeclaredModel::Tokens { .. })
    }
}

impl Declared {
    fn check(self) -> Result<Declaration, String> {
        if !(1..=MAX_BATCH).contains(&self.max_batch) {
            return Err(format!("max_batch = {}: must be from 1 to {MAX_BATCH}", self.max_batch));
        }
        let model = if self.is_language_model {
            let prefix_caching = match self.prefix_caching {
                Some(true) => PrefixCaching::On,
                Some(false) => PrefixCaching::Off,
                None => PrefixCaching::CannotTell,
            };
            DeclaredModel::Tokens { served: self.served.checked()?, prefix_caching }
        } else {
            let mut names: Vec<String> = Vec::new();
            let mut shape =
                |tensor: TensorEntry| tensor.check(|name| Ok(number_of(&mut names, name)));
            let inputs = self.inputs.into_iter().map(&mut shape).collect::<Result<Vec<_>, _>>()?;
            let outputs =
                self.outputs.into_iter().map(&mut shape).collect::<Result<Vec<_>, _>>()?;
            let [output] = <[Shape; 1]>::try_from(outputs)
                .map_err(|outputs| format!("{} outputs; expected one", outputs.len()))?;
            let longest = |name: &String| {
                let length = self.max_lengths.get(name).copied();
                length.ok_or_else(|| format!("max_lengths has no {name:?}"))
            };
            let max_lengths = names.iter().map(longest).collect::<Result<_, _>>()?;
            let (name, counts_tokens) = (self.served.name, self.counts_tokens);
            let tensors = DeclaredTensors { name, inputs, output, max_lengths, counts_tokens };
            tensors
                .slot_bytes(self.max_batch)
                .ok_or("its tensors are too long for this machine")?;
            DeclaredModel::Tensors(Arc::new(tensors))
        };
        Ok(Declaration { model, max_batch: self.max_batch, framework: self.framework })
    }
}

/// Regions of the shared memory begin at multiples of this.
const ALIGNMENT: u64 = 64;

impl DeclaredTensors {
    pub(crate) fn layout(&self) -> InputLayout {
        InputLayout { tensors: self.inputs.iter().map(Shape::spec).collect() }
    }

    /// Returns the length of the longest row of a tensor, in bytes; `None` if it is too long.
    pub(crate) fn row_bytes(&self, shape: &Shape) -> Option<u64> {
        shape.row_bytes(&self.max_lengths)
    }

    /// Returns the room for a tensor of a batch, in bytes.
    pub(crate) fn region_bytes(&self, shape: &Shape, max_batch: usize) -> Option<u64> {
        self.row_bytes(shape)?.checked_mul(max_batch as u64)?.checked_next_multiple_of(ALIGNMENT)
    }

    /// Returns the room for a batch, in bytes.
    pub(crate) fn slot_bytes(&self, max_batch: usize) -> Option<u64> {
        let mut tensors = self.inputs.iter().chain([&self.output]);
        let bytes = tensors.try_fold(0_u64, |bytes, shape| {
            bytes.checked_add(self.region_bytes(shape, max_batch)?)
        })?;
        (bytes <= isize::MAX as u64 / 8).then_some(bytes)
    }
}
