//! A model on a device.

use std::{
    ffi::CString,
    path::PathBuf,
    ptr::{self, NonNull},
    sync::Arc,
};

use netdiv_proto::layout::TensorSpec;

use crate::{
    Instance, PluginError,
    abi::{self, MAX_RANK},
    call::call,
    library::Loaded,
};

/// Floating-point type of a model's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// IEEE 754, 32 bits.
    Fp32,
    /// The same; matrices are multiplied with 10 bits of the fraction, where the device can.
    Tf32,
    /// IEEE 754, 16 bits.
    Fp16,
    /// The upper half of fp32.
    Bf16,
}

impl Precision {
    /// Its name in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
        }
    }
}

/// What a model is loaded with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The model file.
    pub path: PathBuf,
    /// A device's name.
    pub device: String,
    /// Type of the weights.
    pub precision: Precision,
    /// Threads that one instance may use on the host's processors.
    pub threads: usize,
    /// Batches come only in shapes that were warmed up.
    pub fixed_shapes: bool,
    /// Inputs without the batch dimension; -1 is a free length.
    pub inputs: Vec<TensorSpec>,
    /// Outputs, likewise.
    pub outputs: Vec<TensorSpec>,
}

/// A loaded model, shared by its instances.
#[derive(Debug, Clone)]
pub struct Model(pub(crate) Arc<Handle>);

#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) plugin: Arc<Loaded>,
    pub(crate) model: NonNull<abi::Model>,
    _specs: Specs,
}

// SAFETY: the header lets several threads use a model, one at a time for load and unload, which `Loaded::alone` sees to.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// What the plug-in may look at until it unloads the model.
#[derive(Debug)]
struct Specs {
    _strings: Vec<CString>,
    _inputs: Vec<abi::TensorSpec>,
    _outputs: Vec<abi::TensorSpec>,
}

impl Model {
    pub(crate) fn load(plugin: Arc<Loaded>, settings: Settings) -> Result<Self, PluginError> {
        let mut strings = Vec::new();
        let mut string = |text: &str| {
            let text = CString::new(text)
                .map_err(|_| PluginError::Refused(format!("{text:?} holds a zero byte")))?;
            // A CString does not move its bytes when it is moved.
            let at = text.as_ptr();
            strings.push(text);
            Ok(at)
        };
        let path = string(&settings.path.to_string_lossy())?;
        let device = string(&settings.device)?;
        let precision = string(settings.precision.name())?;
        let mut specs = |specs: &[TensorSpec]| {
            let spec = |spec: &TensorSpec| {
                let mut shape = [0; MAX_RANK];
                let rank = spec.shape.len() + 1;
                if rank > MAX_RANK {
                    let text = format!("{} has more than {} dimensions", spec.name, MAX_RANK - 1);
                    return Err(PluginError::Refused(text));
                }
                shape[0] = -1;
                shape[1..rank].copy_from_slice(&spec.shape);
                let (data_type, rank) = (spec.data_type as u32, rank as u32);
                Ok(abi::TensorSpec { name: string(&spec.name)?, data_type, rank, shape })
            };
            specs.iter().map(spec).collect::<Result<Vec<_>, _>>()
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
        let mut model = ptr::null_mut();
        {
            let _alone = plugin.alone();
            // SAFETY: what `asked` points at is kept in the handle, at the same addresses.
            call(|error| unsafe { (plugin.functions.load)(&asked, &mut model, error) })?;
        }
        let model = NonNull::new(model)
            .ok_or_else(|| PluginError::Failed("load gave neither a model nor an error".into()))?;
        let specs = Specs { _strings: strings, _inputs: inputs, _outputs: outputs };
        Ok(Self(Arc::new(Handle { plugin, model, _specs: specs })))
    }

    /// Makes an instance.
    pub fn open(&self) -> Result<Instance, PluginError> {
        Instance::open(self.0.clone())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _alone = self.plugin.alone();
        // SAFETY: instances hold the handle, so none is left; the specs are dropped after this.
        unsafe { (self.plugin.functions.unload)(self.model.as_ptr()) }
    }
}
