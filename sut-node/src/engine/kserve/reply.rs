//! Reads a response: checks that it belongs to its request, and returns its tensors.

use bytes::Bytes;
use netdiv_contract::layout::{DataType, element_bytes};

use crate::engine::kserve::rpc::ModelInferResponse;

/// Returns the protocol's name of a data type.
pub(super) fn name_of(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Unspecified => "",
        DataType::Uint8 => "UINT8",
        DataType::Int8 => "INT8",
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
