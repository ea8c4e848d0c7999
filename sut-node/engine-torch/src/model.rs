//! A TorchScript model on one device, and its instances.

use std::{
    cell::Cell,
    ffi::{CStr, c_void},
    slice,
};

use netdiv_plugin::abi;
use tch::{CModule, Cuda, Device, IValue, Kind, Tensor};

use crate::{
    device,
    failure::Failure,
    pipeline::{self, InferenceMode, Pipeline},
    staging::Staging,
};

/// Batches that an instance on a GPU can have begun: one computes while the next is copied.
const SLOTS: usize = 2;

pub(crate) struct Model {
    module: CModule,
    device: Device,
    threads: i32,
    outputs: Vec<String>,
}

thread_local! {
    /// Whether this thread knows how many threads its operations may use.
    static PREPARED: Cell<bool> = const { Cell::new(false) };
}

impl Model {
    /// Loads a file onto a device.
    ///
    /// # Safety
    ///
    /// The settings' pointers are valid, as the ABI says.
    pub(crate) unsafe fn load(settings: &abi::ModelSettings) -> Result<Self, Failure> {
        if settings.size != size_of::<abi::ModelSettings>() as u64 {
            return Err(Failure::refused("netdiv_model_settings has another size".into()));
        }
        // SAFETY: the caller's strings and specs.
        let (path, device, precision, outputs) = unsafe {
            let text = |at| CStr::from_ptr(at).to_string_lossy().into_owned();
            let outputs = slice::from_raw_parts(settings.outputs, settings.output_count as usize);
            let names = outputs.iter().map(|spec| text(spec.name)).collect();
            (text(settings.path), text(settings.device), text(settings.precision), names)
        };
        let device = device::find(&device)?;
        if device.is_cuda() {
            // The fastest algorithm is looked for, and kernels are made, for each shape: worth it for few.
            let few_shapes = settings.fixed_shapes == 1;
            Cuda::cudnn_set_benchmark(few_shapes);
            tch::jit::f_set_tensor_expr_fuser_enabled(few_shapes)?;
            pipeline::allow_tf32(precision == "tf32")?;
        } else {
            pipeline::keep_memory();
        }
        let mut module = CModule::load_on_device(&path, device)
            .map_err(|error| Failure::refused(Failure::from(error).text))?;
        module.f_set_eval()?;
        check_precision(&module, &precision)?;
        let threads = i32::try_from(settings.threads).unwrap_or(1).max(1);
        Ok(Self { module, device, threads, outputs })
    }
}

/// Compares the type of the weights with the manifest's. A frozen file has constants in their place, which it does not list.
fn check_precision(module: &CModule, precision: &str) -> Result<(), Failure> {
    let want = match precision {
        "fp32" | "tf32" => Kind::Float,
        "fp16" => Kind::Half,
        "bf16" => Kind::BFloat16,
        other => return Err(Failure::refused(format!("the precision {other} is unknown"))),
    };
    for (name, tensor) in module.named_parameters()? {
        let kind = tensor.f_kind()?;
        if kind != want && matches!(kind, Kind::Float | Kind::Half | Kind::BFloat16 | Kind::Double)
        {
            return Err(Failure::refused(format!(
                "the manifest says {precision}, but the weight {name} is {kind:?}; export the model with that precision"
            )));
        }
    }
    Ok(())
}

/// What one engine thread owns.
pub(crate) struct Instance<'a> {
    model: &'a Model,
    staging: Staging,
    /// On a CUDA device.
    pipeline: Option<Pipeline>,
    /// Inputs on the device; each slot has its own, which grow with the batches.
    on_device: Vec<Vec<Tensor>>,
}

impl<'a> Instance<'a> {
    pub(crate) fn open(model: &'a Model) -> Result<Self, Failure> {
        let pipeline = match model.device {
            Device::Cuda(index) => Some(Pipeline::new(index, SLOTS)?),
            _ => None,
        };
        let on_device = (0..SLOTS).map(|_| Vec::new()).collect();
        Ok(Self { model, staging: Staging::new(model.device), pipeline, on_device })
    }

    pub(crate) fn in_flight(&self) -> u32 {
        match self.pipeline {
            Some(_) => SLOTS as u32,
            // begin does all the work.
            None => 1,
        }
    }

    pub(crate) fn allocate(&mut self, bytes: u64) -> Result<*mut c_void, Failure> {
        self.staging.allocate(bytes)
    }

    pub(crate) fn release(&mut self, memory: *mut c_void) {
        self.staging.release(memory);
    }

    pub(crate) fn begin(
        &mut self,
        slot: usize,
        inputs: &[abi::Tensor],
        outputs: &[abi::Tensor],
    ) -> Result<(), Failure> {
        let model = self.model;
        if !PREPARED.replace(true) {
            tch::set_num_threads(model.threads);
        }
        let _mode = InferenceMode::enter();
        let Some(pipeline) = &mut self.pipeline else {
            let inputs = inputs.iter().map(view).collect::<Result<Vec<_>, _>>()?;
            return model.run(inputs, outputs);
        };
        let room = &mut self.on_device[slot];
        let begun = pipeline.run(
            slot,
            || copy_to_device(room, inputs, model.device),
            |inputs| model.run(inputs, outputs),
        );
        if begun.as_ref().is_err_and(|failure| failure.status == abi::OUT_OF_MEMORY) {
            // It is in the way of a smaller batch. Nothing of this slot is under way any more.
            self.on_device[slot].clear();
        }
        begun
    }

    pub(crate) fn finish(&mut self, slot: usize) -> Result<(), Failure> {
        self.pipeline.as_mut().map_or(Ok(()), |pipeline| pipeline.wait(slot))
    }
}

/// A slot's inputs on the device, in room that is used again.
fn copy_to_device(
    room: &mut Vec<Tensor>,
    inputs: &[abi::Tensor],
    device: Device,
) -> Result<Vec<Tensor>, Failure> {
    let mut views = Vec::with_capacity(inputs.len());
    for (place, input) in inputs.iter().enumerate() {
        let from = view(input)?;
        let elements = i64::try_from(from.numel()).unwrap_or(i64::MAX);
        if room.get(place).is_none_or(|to| to.numel() < from.numel()) {
            let new = Tensor::f_empty([elements], (from.f_kind()?, device))?;
            match room.get_mut(place) {
                Some(old) => *old = new,
                None => room.push(new),
            }
        }
        let mut to = room[place].f_narrow(0, 0, elements)?.f_view(from.size().as_slice())?;
        pipeline::copy(&mut to, &from)?;
        views.push(to);
    }
    Ok(views)
}

impl Model {
    /// Runs the model and copies what it gives to the outputs' memory.
    fn run(&self, inputs: Vec<Tensor>, outputs: &[abi::Tensor]) -> Result<(), Failure> {
        let inputs: Vec<_> = inputs.into_iter().map(IValue::Tensor).collect();
        let given = tensors_of(self.module.forward_is(&inputs)?)?;
        if given.len() != outputs.len() {
            let (given, want) = (given.len(), outputs.len());
            return Err(Failure::refused(format!(
                "the model gives {given} tensors, the manifest names {want}"
            )));
        }
        for ((given, output), name) in given.iter().zip(outputs).zip(&self.outputs) {
            let mut to = view(output)?;
            if given.size() != to.size() {
                return Err(Failure::refused(format!(
                    "the model's output {name} has the shape {:?}, the manifest says {:?} (the batch comes first)",
                    given.size(),
                    to.size()
                )));
            }
            let (from_kind, to_kind) = (given.f_kind()?, to.f_kind()?);
            // Half precision widens without loss; nothing else is converted unasked.
            let widens = matches!(from_kind, Kind::Half | Kind::BFloat16) && to_kind == Kind::Float;
            if from_kind != to_kind && !widens {
                return Err(Failure::refused(format!(
                    "the model's output {name} is {from_kind:?}, the manifest says {to_kind:?}"
                )));
            }
            pipeline::copy(&mut to, given)?;
        }
        Ok(())
    }
}

/// A tensor, or a tuple or list of some.
fn tensors_of(value: IValue) -> Result<Vec<Tensor>, Failure> {
    let tensor = |value| match value {
        IValue::Tensor(tensor) => Ok(tensor),
        other => {
            Err(Failure::refused(format!("the model gives a {other:?} where a tensor belongs")))
        }
    };
    match value {
        IValue::Tensor(tensor) => Ok(vec![tensor]),
        IValue::TensorList(tensors) => Ok(tensors),
        IValue::Tuple(values) => values.into_iter().map(tensor).collect(),
        _ => {
            Err(Failure::refused("the model gives neither a tensor nor a tuple of tensors".into()))
        }
    }
}

/// The caller's memory as a tensor, without a copy.
fn view(tensor: &abi::Tensor) -> Result<Tensor, Failure> {
    let kind = match tensor.data_type {
        1 => Kind::Uint8,
        2 => Kind::Int8,
        3 => Kind::Int,
        4 => Kind::Int64,
        5 => Kind::Half,
        6 => Kind::Float,
        other => return Err(Failure::refused(format!("the data type {other} is unknown"))),
    };
    let shape = &tensor.shape[..(tensor.rank as usize).min(abi::MAX_RANK)];
    let mut strides = vec![1; shape.len()];
    for place in (1..shape.len()).rev() {
        strides[place - 1] = strides[place] * shape[place].max(1);
    }
    // SAFETY: the caller's tensor is contiguous and stays until the batch is finished; views do not outlive it.
    Ok(unsafe {
        Tensor::f_from_blob(tensor.data.cast::<u8>(), shape, &strides, kind, Device::Cpu)
    }?)
}
