//! A workload with another model than its own, for tests and fuzz targets: a node's processing of
//! samples before and after the model runs.

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::layout::element_bytes;
use rayon::ThreadPoolBuilder;

use crate::model::{
    manifest::{Manifest, Shape},
    payload::Payload,
    workload::{AlignedBytes, Pass, Workload},
    workloads::of_manifest,
};

/// Maximum size of a tensor of a pass, in bytes; larger passes are not run.
const MOST_BYTES: usize = 1 << 26;

/// Workload that a manifest describes.
#[derive(Debug)]
pub(crate) struct DryRun {
    manifest: Arc<Manifest>,
    workload: Arc<dyn Workload>,
}

impl DryRun {
    /// Creates the workload that the manifest describes. Fails with a text if the manifest does not
    /// fit its workload.
    pub(crate) fn new(manifest: Manifest) -> Result<Self, String> {
        let manifest = Arc::new(manifest);
        let threads = ThreadPoolBuilder::new().num_threads(2).build();
        let threads = threads.map_err(|error| error.to_string())?;
        let workload = of_manifest(&manifest, &Arc::new(threads))?;
        Ok(Self { manifest, workload })
    }

    /// Runs the samples as one batch. Skips the samples that do not fit the layout, and returns the
    /// response to each other sample, or the reason why it failed. `model` reads the inputs of a
    /// pass, and writes its outputs, which are zeros before.
    pub(crate) fn answers(
        &self,
        samples: &[Bytes],
        mut model: impl FnMut(&Pass, &[&[u8]], &mut [&mut [u8]]),
    ) -> Vec<Result<Bytes, String>> {
        let takes = self.workload.layout();
        let read = |sample: &Bytes| Payload::read(&takes, sample.clone()).ok();
        let batch: Arc<[Payload]> = samples.iter().filter_map(read).collect();
        for sample in batch.iter() {
            self.workload.length(sample);
        }
        let mut job = self.workload.clone().job(batch);
        while let Some(pass) = job.next_pass() {
            let of = |shapes: &[Shape]| shapes.iter().map(|shape| zeros(shape, &pass)).collect();
            let inputs: Option<Vec<_>> = of(&self.manifest.inputs);
            let outputs: Option<Vec<_>> = of(&self.manifest.outputs);
            let (Some(mut inputs), Some(mut outputs)) = (inputs, outputs) else { break };
            job.write_inputs(
                &mut inputs.iter_mut().map(AlignedBytes::bytes_mut).collect::<Vec<_>>(),
            );
            let inputs: Vec<_> = inputs.iter().map(AlignedBytes::bytes).collect();
            model(
                &pass,
                &inputs,
                &mut outputs.iter_mut().map(AlignedBytes::bytes_mut).collect::<Vec<_>>(),
            );
            job.read_outputs(&outputs.iter().map(AlignedBytes::bytes).collect::<Vec<_>>());
        }
        let answers = job.answers().into_iter();
        answers.map(|answer| answer.map_err(|error| error.to_string())).collect()
    }
}

/// Returns a tensor of zeros for a pass; `None` if it is larger than [`MOST_BYTES`].
fn zeros(shape: &Shape, pass: &Pass) -> Option<AlignedBytes> {
    let lengths = shape.of_batch(pass.rows, &pass.lengths);
    let bytes = lengths
        .iter()
        .try_fold(element_bytes(shape.data_type), |product, length| product.checked_mul(*length))
        .filter(|bytes| *bytes <= MOST_BYTES)?;
    Some(AlignedBytes::zeros(bytes))
}
