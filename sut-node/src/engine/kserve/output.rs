//! Responses: their tensors, and their messages as an output of token ids. Ids that may be wrong are an
//! error.

use bytes::Bytes;
use netdiv_contract::layout::{DataType, element_bytes};

use crate::{
    engine::{
        kserve::rpc::{
            ModelInferResponse, ModelStreamInferResponse, infer_parameter::ParameterChoice,
        },
        remote::reading::{self, Ids},
    },
    model::decoupled::DecoupledModel,
};

/// Reads length-delimited messages of the response to request `id`, for tests and fuzz targets.
/// Returns the ids that the engine would pass on, and the outcome.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_stream(
    model: &DecoupledModel,
    id: &str,
    mut messages: &[u8],
) -> (Vec<i32>, Result<(), String>) {
    use prost::Message as _;
    use reading::TokenOutput as _;

    let (mut ids, mut output) = (Vec::new(), KserveOutput::new(model, DataType::Int32, id));
    let mut read = || {
        while !messages.is_empty() {
            let message = ModelStreamInferResponse::decode_length_delimited(&mut messages);
            ids.extend(output.take(message.map_err(|error| error.to_string())?)?);
        }
        output.end()
    };
    let outcome = read();
    (ids, outcome)
}

/// Name of a message's parameter, which is true if no message follows.
const FINAL: &str = "triton_final_response";

pub(super) struct KserveOutput<'a> {
    model: &'a DecoupledModel,
    data_type: DataType,
    id: &'a str,
    ids: Ids<'a>,
    /// Set once the final response has arrived.
    is_whole: bool,
}

impl<'a> KserveOutput<'a> {
    pub(super) fn new(model: &'a DecoupledModel, data_type: DataType, id: &'a str) -> Self {
        Self { model, data_type, id, ids: Ids::new(&model.served), is_whole: false }
    }
}

impl reading::TokenOutput for KserveOutput<'_> {
    type Part = ModelStreamInferResponse;
    type Remarks = ();

    fn len(&self) -> usize {
        self.ids.len()
    }

    fn take(&mut self, message: ModelStreamInferResponse) -> Result<&[i32], String> {
        if !message.error_message.is_empty() {
            return Err(format!("the server failed: {}", message.error_message));
        }
        let answer = message.infer_response.ok_or("a message has no response")?;
        check_response(&answer, &self.model.served.name, self.id)?;
        if self.is_whole {
            return Err("messages follow the final response".into());
        }
        let said = answer.parameters.get(FINAL).and_then(|said| said.parameter_choice.as_ref());
        self.is_whole = said == Some(&ParameterChoice::BoolParam(true));
        let before = self.ids.len();
        // The last message may have no tensors.
        if !(self.is_whole && answer.outputs.is_empty()) {
            let output = output(&answer, &self.model.output, self.data_type)?;
            let rows = output.shape.iter().rev().skip(1);
            if output.shape.is_empty() || rows.into_iter().any(|rows| *rows != 1) {
                let (name, shape) = (&self.model.output, &output.shape);
                return Err(format!(
                    "the output {name:?} has the shape {shape:?}; expected one row of ids"
                ));
            }
            match self.data_type {
                DataType::Int64 => {
                    let ids = output.data.as_chunks().0.iter().map(|id| i64::from_le_bytes(*id));
                    ids.into_iter().try_for_each(|id| self.ids.push(id))?;
                }
                _ => {
                    let ids = output.data.as_chunks().0.iter().map(|id| i32::from_le_bytes(*id));
                    ids.into_iter().try_for_each(|id| self.ids.push(id.into()))?;
                }
            }
        }
        Ok(&self.ids.as_slice()[before..])
    }

    /// Returns false: messages after the final response are invalid, so the stream is read to its
    /// end.
    fn is_complete(&self) -> bool {
        false
    }

    fn end(&mut self) -> Result<(), String> {
        if !self.is_whole {
            return Err("the final response is missing".into());
        }
        if self.ids.len() == 0 {
            return Err("the output is empty".into());
        }
        self.ids.check_least()?;
        // Without end-of-text ids, only the model knows where an output ends.
        match self.ids.cut_off_reason() {
            Some(why) if !self.model.served.eos.is_empty() && !self.ids.end_is_eos() => {
                Err(format!("{why} and without an id of eos"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the protocol's name of a data type.
pub(super) fn name_of(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Unspecified => "",
        DataType::Uint8 => "UINT8",
        DataType::Int8 => "INT8",
        DataType::Int16 => "INT16",
        DataType::Int32 => "INT32",
        DataType::Int64 => "INT64",
        DataType::Float16 => "FP16",
        DataType::Float32 => "FP32",
    }
}

/// Output of a response. `data` has as many bytes as `shape` requires.
pub(super) struct OutputTensor {
    pub(super) shape: Vec<usize>,
    pub(super) data: Bytes,
}

/// Checks that a response belongs to request `id` to the model `model`.
pub(super) fn check_response(
    answer: &ModelInferResponse,
    model: &str,
    id: &str,
) -> Result<(), String> {
    if answer.id != id {
        return Err(format!("the response is to request {:?}, not {id:?}", answer.id));
    }
    // Without tensors, some versions omit the name.
    if answer.model_name != model && !(answer.model_name.is_empty() && answer.outputs.is_empty()) {
        return Err(format!("the response is from the model {:?}", answer.model_name));
    }
    let (outputs, contents) = (answer.outputs.len(), answer.raw_output_contents.len());
    if outputs != contents {
        return Err(format!(
            "the number of outputs is {outputs}, but that of raw_output_contents is {contents}"
        ));
    }
    Ok(())
}

/// Returns the output with this name. Fails if the output has another type.
pub(super) fn output(
    answer: &ModelInferResponse,
    name: &str,
    data_type: DataType,
) -> Result<OutputTensor, String> {
    let mut places = answer.outputs.iter().zip(&answer.raw_output_contents);
    let found = places.find(|(output, _)| output.name == name);
    let (output, data) = found.ok_or_else(|| format!("the response has no output {name:?}"))?;
    let (want, got) = (name_of(data_type), &output.datatype);
    if want != got {
        return Err(format!("the output {name:?} is {got}, not {want}"));
    }
    let length = |length: &i64| usize::try_from(*length).ok();
    let shape: Option<Vec<_>> = output.shape.iter().map(length).collect();
    let bytes = shape.as_deref().and_then(|shape| bytes_of(data_type, shape));
    match (shape, bytes) {
        (Some(shape), Some(bytes)) if bytes == data.len() => {
            Ok(OutputTensor { shape, data: data.clone() })
        }
        _ => {
            let bytes = data.len();
            Err(format!("the output {name:?} is {want}{:?} and has {bytes} bytes", output.shape))
        }
    }
}

/// Returns the number of bytes of a tensor, or `None` on overflow.
pub(super) fn bytes_of(data_type: DataType, shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(element_bytes(data_type), |bytes, length| bytes.checked_mul(*length))
}
