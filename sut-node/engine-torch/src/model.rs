//! A model of tensors on one device, and its instances.

use std::{
    ffi::{CStr, c_void},
    sync::Arc,
};

use netdiv_plugin::abi;
use tch::{Cuda, Device, Kind, Tensor};

use crate::{
    device,
    failure::Failure,
    network::Network,
    patience::WaitStrategy,
    pipeline::{self, Pipeline, Waiter},
    shim::{self, InferenceMode},
    staging::Staging,
    steps,
    tensors::{Spec, view},
};

/// Maximum number of batches in flight in an instance on a GPU: one computes while the next is
/// copied.
const SLOTS: usize = 2;

pub(crate) struct TensorModel {
    network: Network,
    device: Device,
    threads: i32,
    outputs: Vec<Spec>,
}

impl TensorModel {
    /// Loads the model file of the settings onto their device.
    ///
    /// # Safety
    ///
    /// The settings' pointers are valid, as the ABI requires.
    pub(crate) unsafe fn load(settings: &abi::ModelSettings) -> Result<Self, Failure> {
        if settings.size != size_of::<abi::ModelSettings>() as u64 {
            return Err(Failure::refused("netdiv_model_settings has an unexpected size".into()));
        }
        // SAFETY: the caller's strings and specs.
        let (path, device, precision) = unsafe {
            let text = |at| CStr::from_ptr(at).to_string_lossy().into_owned();
            (text(settings.path), text(settings.device), text(settings.precision))
        };
        // SAFETY: as above.
        let (inputs, outputs) = unsafe {
            (
                Spec::read(settings.inputs, settings.input_count),
                Spec::read(settings.outputs, settings.output_count),
            )
        };
        let device = device::find(&device)?;
        if device.is_cuda() {
            // With this setting, cuDNN searches for the fastest algorithm for each new shape. The
            // search pays off only for few shapes.
            Cuda::cudnn_set_benchmark(settings.fixed_shapes == 1);
        }
        shim::set_up(device, &precision, shim::uses_cudnn_attention()?)?;
        let network = Network::load(&path, device, &precision, inputs, &outputs)?;
        let threads = i32::try_from(settings.threads).unwrap_or(1).max(1);
        Ok(Self { network, device, threads, outputs })
    }
}

/// Waits for an instance's batches, on any thread.
pub(crate) struct BatchWaiter {
    waiter: Waiter,
    patience: Arc<WaitStrategy>,
}

impl BatchWaiter {
    /// Waits until the work in the slot is done.
    ///
    /// # Safety
    ///
    /// The instance lives through the call, and no thread begins work in this slot meanwhile.
    pub(crate) unsafe fn wait(&self, slot: usize) -> Result<(), Failure> {
        // SAFETY: as above; the pipeline is the instance's.
        self.patience.wait(&mut unsafe { self.waiter.batch(slot) })
    }
}

/// An instance, which one thread of the node owns.
pub(crate) struct TensorInstance<'a> {
    model: &'a TensorModel,
    staging: Staging,
    /// Streams of a CUDA device; `None` on the CPU.
    pipeline: Option<Pipeline>,
    patience: Arc<WaitStrategy>,
    /// Memory for inputs on the device, by slot and input. It grows to the largest batch so far.
    on_device: Vec<Vec<Tensor>>,
}

impl<'a> TensorInstance<'a> {
    pub(crate) fn open(model: &'a TensorModel) -> Result<Self, Failure> {
        let pipeline = match model.device {
            Device::Cuda(index) => Some(Pipeline::new(index, SLOTS)?),
            _ => None,
        };
        let on_device = (0..SLOTS).map(|_| Vec::new()).collect();
        let (staging, patience) = (Staging::new(model.device), Arc::default());
        Ok(Self { model, staging, pipeline, patience, on_device })
    }

    pub(crate) fn in_flight(&self) -> u32 {
        // Without a pipeline, `begin` does all the work.
        if self.pipeline.is_some() { SLOTS as u32 } else { 1 }
    }

    /// Returns a waiter for begun batches; `None` on the CPU, where `begin` does all the work.
    pub(crate) fn waiting(&self) -> Option<BatchWaiter> {
        let waiter = self.pipeline.as_ref()?.waiter();
        Some(BatchWaiter { waiter, patience: self.patience.clone() })
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
        shim::set_threads(model.threads);
        let _mode = InferenceMode::enter();
        let Some(pipeline) = &mut self.pipeline else {
            let inputs = inputs.iter().map(view).collect::<Result<Vec<_>, _>>()?;
            return model.run(inputs, outputs);
        };
        let room = &mut self.on_device[slot];
        let begun = steps::run(
            pipeline,
            slot,
            || copy_to_device(room, inputs, model.device),
            |inputs| model.run(inputs, outputs),
        );
        if begun.as_ref().is_err_and(|failure| failure.status == abi::OUT_OF_MEMORY) {
            // Free memory for a smaller batch. No work in this slot is in progress any more.
            self.on_device[slot].clear();
        }
        begun
    }

    pub(crate) fn finish(&mut self, slot: usize) -> Result<(), Failure> {
        // SAFETY: the pipeline is ours, and only this thread may begin work.
        self.waiting().map_or(Ok(()), |waiting| unsafe { waiting.wait(slot) })
    }

    /// Runs a batch in every slot, so that no slot allocates memory later.
    pub(crate) fn warm_up(
        &mut self,
        inputs: &[abi::Tensor],
        outputs: &[abi::Tensor],
    ) -> Result<(), Failure> {
        let slots = self.in_flight() as usize;
        // The first runs of a shape profile and optimise the graph.
        for slot in (0..3).flat_map(|_| 0..slots) {
            self.begin(slot, inputs, outputs)?;
            self.finish(slot)?;
        }
        Ok(())
    }
}

/// Copies a slot's inputs to the device, into the slot's memory `room`, which grows if it is too
/// small. Returns the inputs on the device.
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

impl TensorModel {
    /// Runs the model and copies its results to the outputs' memory.
    fn run(&self, inputs: Vec<Tensor>, outputs: &[abi::Tensor]) -> Result<(), Failure> {
        let given = self.network.run(inputs)?;
        if given.len() != outputs.len() {
            let (given, want) = (given.len(), outputs.len());
            return Err(Failure::refused(format!(
                "the number of the model's outputs is {given}, but the manifest names {want}"
            )));
        }
        for ((given, output), Spec { name, .. }) in given.iter().zip(outputs).zip(&self.outputs) {
            let mut to = view(output)?;
            check_shape(name, &given.size(), &to.size())?;
            check_kind(name, given.f_kind()?, to.f_kind()?)?;
            pipeline::copy(&mut to, given)?;
        }
        Ok(())
    }
}

fn check_shape(name: &str, given: &[i64], want: &[i64]) -> Result<(), Failure> {
    if given == want {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "the model's output {name} has the shape {given:?}, the manifest says {want:?} (the batch comes first)"
    )))
}

/// Checks the type of an output. Half precision widens without loss; no other type is converted
/// implicitly.
fn check_kind(name: &str, given: Kind, want: Kind) -> Result<(), Failure> {
    let widens = matches!(given, Kind::Half | Kind::BFloat16) && want == Kind::Float;
    if given == want || widens {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "the model's output {name} is {given:?}, the manifest says {want:?}"
    )))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    fn text(outcome: Result<(), Failure>) -> String {
        let failure = outcome.expect_err("a refusal");
        assert_eq!(failure.status, abi::REFUSED);
        failure.text
    }

    #[test]
    fn outputs_have_the_shape_and_type_of_the_manifest() {
        assert!(check_shape("logits", &[4, 10], &[4, 10]).is_ok());
        let shape = text(check_shape("logits", &[4, 10], &[4, 1000]));
        assert!(
            shape.contains("logits has the shape [4, 10], the manifest says [4, 1000]"),
            "{shape}"
        );
        for kind in [Kind::Half, Kind::BFloat16, Kind::Float] {
            assert!(check_kind("logits", kind, Kind::Float).is_ok());
        }
        for (given, want) in
            [(Kind::Float, Kind::Half), (Kind::Double, Kind::Float), (Kind::Int64, Kind::Int)]
        {
            let kind = text(check_kind("logits", given, want));
            assert!(
                kind.contains(&format!("logits is {given:?}, the manifest says {want:?}")),
                "{kind}"
            );
        }
    }

    #[test]
    fn settings_of_another_size_are_refused() {
        let settings = abi::ModelSettings {
            size: 8,
            path: ptr::null(),
            device: ptr::null(),
            precision: ptr::null(),
            threads: 1,
            fixed_shapes: 0,
            input_count: 0,
            output_count: 0,
            inputs: ptr::null(),
            outputs: ptr::null(),
        };
        // SAFETY: with an unexpected size, no other field is read.
        let refused = text(unsafe { TensorModel::load(&settings) }.map(drop));
        assert!(refused.contains("an unexpected size"), "{refused}");
    }
}
