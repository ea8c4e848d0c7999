//! A model on a device, and the types of its weights.

use std::{path::PathBuf, sync::Arc};

use netdiv_contract::layout::TensorSpec;

use crate::{
    abi::{self, MAX_RANK},
    error::PluginError,
    handle::{ModelHandle, Strings},
    instance::PluginInstance,
    table::Table,
};

/// Floating-point type of a model's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// IEEE 754, 32 bits.
    Fp32,
    /// IEEE 754, 32 bits; matrices are multiplied with 10 bits of fraction, if the device supports
    /// it.
    Tf32,
    /// IEEE 754, 16 bits.
    Fp16,
    /// The upper half of fp32.
    Bf16,
}

impl Precision {
    /// All precisions.
    pub const ALL: [Self; 4] = [Self::Fp32, Self::Tf32, Self::Fp16, Self::Bf16];

    /// Returns the name of the precision in the manifests of models.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
        }
    }
}

/// Settings with which a plug-in loads a model.
#[derive(Debug, Clone)]
pub struct PluginModelSettings {
    /// Path of the model file.
    pub path: PathBuf,
    /// Name of the device to load the model onto.
    pub device: String,
    /// Type of the weights.
    pub precision: Precision,
    /// Maximum number of host threads that an instance may use.
    pub threads: usize,
    /// Set if all batches have shapes that were warmed up, or smaller ones after the device's
    /// memory was full.
    pub fixed_shapes: bool,
    /// Specs of the inputs, without the batch dimension; a length of -1 is free.
    pub inputs: Vec<TensorSpec>,
    /// Specs of the outputs, without the batch dimension; a length of -1 is free.
    pub outputs: Vec<TensorSpec>,
}

/// A loaded model, shared by its instances.
#[derive(Debug, Clone)]
pub struct PluginModel(Arc<ModelHandle>);

impl PluginModel {
    pub(crate) fn load(
        table: Arc<Table>,
        settings: &PluginModelSettings,
    ) -> Result<Self, PluginError> {
        let functions = table.tensors()?;
        let mut strings = Strings::default();
        let path = strings.add(&settings.path.to_string_lossy())?;
        let device = strings.add(&settings.device)?;
        let precision = strings.add(settings.precision.name())?;
        let mut specs = |specs: &[TensorSpec]| {
            specs.iter().map(|spec| raw_spec(spec, &mut strings)).collect::<Result<Vec<_>, _>>()
        };
        let (inputs, outputs) = (specs(&settings.inputs)?, specs(&settings.outputs)?);
        let asked = abi::ModelSettings {
            size: size_of::<abi::ModelSettings>() as u64,
            path,
            device,
            precision,
            threads: u32::try_from(settings.threads).unwrap_or(u32::MAX),
            fixed_shapes: settings.fixed_shapes.into(),
            input_count: inputs.len() as u32,
            inputs: inputs.as_ptr(),
            output_count: outputs.len() as u32,
            outputs: outputs.as_ptr(),
        };
        // SAFETY: the handle keeps the data that `asked` points at, at the same addresses.
        let load = |model, error| unsafe { (functions.load)(&asked, model, error) };
        let model = table.load(&settings.device, load)?;
        let (_strings, _specs) = (strings, [inputs, outputs]);
        Ok(Self(Arc::new(ModelHandle { table, functions, model, _strings, _specs })))
    }

    /// Opens an instance.
    pub fn open(&self) -> Result<PluginInstance, PluginError> {
        PluginInstance::open(self.0.clone())
    }
}

/// Returns a spec in the plug-in's form, with the batch dimension in front. Stores its name in
/// `strings`.
fn raw_spec(spec: &TensorSpec, strings: &mut Strings) -> Result<abi::TensorSpec, PluginError> {
    let rank = spec.shape.len() + 1;
    if rank > MAX_RANK {
        let text = format!("{} has more than {} dimensions", spec.name, MAX_RANK - 1);
        return Err(PluginError::Refused(text));
    }
    let mut shape = [0; MAX_RANK];
    shape[0] = -1;
    shape[1..rank].copy_from_slice(&spec.shape);
    let name = strings.add(&spec.name)?;
    Ok(abi::TensorSpec { name, data_type: spec.data_type as u32, rank: rank as u32, shape })
}
