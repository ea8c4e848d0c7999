//! Samples as tensors: sends one request for each pass, a run of the model. Most workloads need one
//! pass for a sample.
//!
//! Each sample has its own requests. The server batches them (Triton: `dynamic_batching`), because
//! it knows which device is free. If the node also batched them, samples would wait twice, and fail
//! together.

use std::{iter, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use crate::{
    engine::{
        kserve::{
            caller::KserveServer,
            output::{bytes_of, check_response, name_of, output},
            rpc::{
                ModelInferRequest, ModelInferResponse,
                model_infer_request::{InferInputTensor, InferRequestedOutputTensor},
                model_metadata_response::TensorMetadata,
            },
        },
        remote::{
            refusal::Refusal,
            token_receiver::{StallTimer, TokenReceiver},
        },
    },
    model::{
        manifest::{Dimension, Manifest, Shape},
        payload::Payload,
        workload::{AlignedBytes, Job, Pass, SampleResponse, Workload, no_answer},
    },
};

/// Plan by which samples become requests, and responses become tensors.
pub(super) struct TensorPlan {
    pub(super) manifest: Arc<Manifest>,
    pub(super) workload: Arc<dyn Workload>,
    /// Set if the served model's tensors have a batch dimension.
    pub(super) has_batch_dimension: bool,
}

impl TensorPlan {
    /// Runs a sample through the model at a server. Stops waiting if `taker` has gone.
    pub(super) async fn attempt(
        &self,
        server: &KserveServer,
        payload: &Payload,
        taker: &impl TokenReceiver,
        timeout: Duration,
    ) -> Result<SampleResponse, Refusal> {
        let mut job = self.workload.clone().job([payload.clone()].into());
        while let Some(pass) = job.next_pass() {
            let request = self.request(server, &pass, Some(&mut *job))?;
            let outputs = self.infer(server, &pass, request, taker, timeout).await?;
            let outputs: Vec<_> = outputs.iter().map(AlignedBytes::bytes).collect();
            job.read_outputs(&outputs);
        }
        Ok(job.answers().pop().unwrap_or_else(no_answer))
    }

    /// Runs a pass of zeros through the model at a server.
    pub(super) async fn try_pass(
        &self,
        server: &KserveServer,
        pass: &Pass,
        timeout: Duration,
    ) -> Result<(), Refusal> {
        let request = self.request(server, pass, None)?;
        self.infer(server, pass, request, &Vec::new(), timeout).await.map(drop)
    }

    fn request(
        &self,
        server: &KserveServer,
        pass: &Pass,
        job: Option<&mut dyn Job>,
    ) -> Result<ModelInferRequest, String> {
        let mut inputs = Vec::with_capacity(self.manifest.inputs.len());
        let mut contents = Vec::with_capacity(inputs.capacity());
        for input in &self.manifest.inputs {
            let shape = self.shape(input, pass)?;
            let bytes = bytes_of(input.data_type, &shape);
            let bytes = bytes.ok_or_else(|| format!("the input {:?} is too long", input.name))?;
            contents.push(AlignedBytes::zeros(bytes));
            inputs.push(InferInputTensor {
                name: input.name.clone(),
                datatype: name_of(input.data_type).into(),
                shape: shape.into_iter().map(|length| length as i64).collect(),
            });
        }
        if let Some(job) = job {
            job.write_inputs(
                &mut contents.iter_mut().map(AlignedBytes::bytes_mut).collect::<Vec<_>>(),
            );
        }
        let output = |shape: &Shape| InferRequestedOutputTensor { name: shape.name.clone() };
        Ok(ModelInferRequest {
            model_name: self.manifest.name.clone(),
            id: server.caller.next_id(),
            inputs,
            outputs: self.manifest.outputs.iter().map(output).collect(),
            raw_input_contents: contents.into_iter().map(Bytes::from_owner).collect(),
            ..ModelInferRequest::default()
        })
    }

    async fn infer(
        &self,
        server: &KserveServer,
        pass: &Pass,
        request: ModelInferRequest,
        taker: &impl TokenReceiver,
        timeout: Duration,
    ) -> Result<Vec<AlignedBytes>, Refusal> {
        let id = request.id.clone();
        let mut client = server.caller.client();
        let answer = client.model_infer(server.caller.call(request));
        let until = Instant::now() + timeout;
        let answer = StallTimer::new(until).wait(answer, taker, until).await??;
        Ok(self.outputs(&answer.into_inner(), pass, &id)?)
    }

    /// Reads the outputs of a pass from the response to request `id`. Fails if an output has
    /// another shape than the pass requires.
    fn outputs(
        &self,
        answer: &ModelInferResponse,
        pass: &Pass,
        id: &str,
    ) -> Result<Vec<AlignedBytes>, String> {
        check_response(answer, &self.manifest.name, id)?;
        let outputs = self.manifest.outputs.iter().map(|shape| {
            let want = self.shape(shape, pass)?;
            let got = output(answer, &shape.name, shape.data_type)?;
            if got.shape != want {
                return Err(format!(
                    "the output {:?} has the shape {:?}; expected {want:?}: correct its shape in the manifest",
                    shape.name, got.shape
                ));
            }
            Ok(AlignedBytes::from(&got.data[..]))
        });
        outputs.collect()
    }

    /// Returns the lengths of a tensor's dimensions in a pass.
    fn shape(&self, shape: &Shape, pass: &Pass) -> Result<Vec<usize>, String> {
        let mut lengths = shape.of_batch(pass.rows, &pass.lengths);
        if !self.has_batch_dimension {
            lengths.remove(0);
            if pass.rows != 1 {
                return Err(format!(
                    "the model has no batch dimension, but the pass has {} rows",
                    pass.rows
                ));
            }
        }
        Ok(lengths)
    }
}

/// Returns true if the served model's tensors have a batch dimension. Fails if they differ from the
/// manifest's.
pub(super) fn has_batch(
    manifest: &Manifest,
    inputs: &[TensorMetadata],
    outputs: &[TensorMetadata],
) -> Result<bool, String> {
    let known = |name: &str| manifest.inputs.iter().any(|shape| shape.name == name);
    if let Some(input) = inputs.iter().find(|input| !known(&input.name)) {
        return Err(format!(
            "it has the input {:?}, which is missing from the manifest",
            input.name
        ));
    }
    let kinds = [("input", &manifest.inputs, inputs), ("output", &manifest.outputs, outputs)];
    let mut batch = None;
    for (kind, shapes, served) in kinds {
        for shape in shapes {
            let tensor = served.iter().find(|tensor| tensor.name == shape.name);
            let tensor = tensor.ok_or_else(|| format!("it has no {kind} {:?}", shape.name))?;
            let is_batch = fits(shape, tensor).ok_or_else(|| {
                let own: Vec<_> = shape.spec().shape;
                format!(
                    "its {kind} {:?} is {}{:?}, but the manifest states {}{own:?}",
                    shape.name,
                    tensor.datatype,
                    tensor.shape,
                    name_of(shape.data_type)
                )
            })?;
            if *batch.get_or_insert(is_batch) != is_batch {
                return Err("only some of its tensors have a batch dimension".into());
            }
        }
    }
    Ok(batch.unwrap_or(false))
}

/// Compares a tensor of the manifest with the served one. Returns true if the served one has a
/// batch dimension in front, or `None` if their types or lengths differ.
fn fits(shape: &Shape, tensor: &TensorMetadata) -> Option<bool> {
    let (own, served) = (&shape.dimensions, &tensor.shape);
    let batch = match served.len().checked_sub(own.len())? {
        0 => false,
        1 if matches!(served[0], -1 | 1) => true,
        _ => return None,
    };
    let same = |(own, served): (&Dimension, &i64)| match own {
        Dimension::Fixed(length) => *served == -1 || *served == *length as i64,
        Dimension::Free(_) => *served == -1,
    };
    let lengths = served.iter().skip(usize::from(batch));
    let fits = tensor.datatype == name_of(shape.data_type) && iter::zip(own, lengths).all(same);
    fits.then_some(batch)
}
