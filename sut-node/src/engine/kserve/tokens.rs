//! Prompts as tensors: sends a prompt, and reads its output from a stream of tensors.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use netdiv_contract::layout::DataType;
use tokio::time::Instant;
use tonic::Streaming;

use crate::{
    engine::{
        kserve::{
            caller::KserveServer,
            output::{KserveOutput, name_of},
            rpc::{
                InferParameter, ModelInferRequest, ModelStreamInferResponse,
                infer_parameter::ParameterChoice,
                model_infer_request::{InferInputTensor, InferRequestedOutputTensor},
                model_metadata_response::TensorMetadata,
            },
        },
        remote::{
            reading::{Parts, read},
            refusal::Refusal,
            token_receiver::{StallTimer, TokenReceiver},
        },
    },
    model::decoupled::{DecoupledModel, InputSource, InputValue},
};

/// Name of a request's parameter, which asks for a final response even if it holds no tokens.
const WANTS_END: &str = "triton_enable_empty_final_response";

/// Plan by which prompts become requests, and responses become token ids.
#[derive(PartialEq)]
pub(super) struct TokenPlan {
    model: Arc<DecoupledModel>,
    inputs: Vec<Input>,
    /// Type of the output's ids.
    data_type: DataType,
}

#[derive(PartialEq)]
struct Input {
    name: String,
    data_type: String,
    /// Shape, for a prompt without its last dimension, the number of tokens.
    shape: Vec<i64>,
    holds: InputContent,
}

#[derive(PartialEq)]
enum InputContent {
    Prompt,
    PromptTokens,
    Constant(Bytes),
}

impl TokenPlan {
    /// Plans requests to a model that is served with the tensors `inputs` and `outputs`. Fails if
    /// these do not match the model's file.
    pub(super) fn new(
        model: Arc<DecoupledModel>,
        inputs: &[TensorMetadata],
        outputs: &[TensorMetadata],
    ) -> Result<Self, String> {
        let named = |kind: &str, tensors: &[TensorMetadata], name: &str| {
            let found = tensors.iter().find(|tensor| tensor.name == name).cloned();
            found.ok_or_else(|| format!("it has no {kind} {name:?}"))
        };
        let own = model.inputs.iter().map(|(name, given)| {
            let tensor = named("input", inputs, name)?;
            Input::new(&model, tensor, *given)
        });
        let own = own.collect::<Result<_, String>>()?;
        let output = named("output", outputs, &model.output)?;
        let data_type = of_ids(&output.datatype).ok_or_else(|| {
            format!("its output {:?} is {}; expected INT32 or INT64", output.name, output.datatype)
        })?;
        Ok(Self { model, inputs: own, data_type })
    }

    /// Sends a prompt to a server, and passes the tokens of the response to `taker` as they arrive.
    pub(super) async fn attempt(
        &self,
        server: &KserveServer,
        prompt: &[i64],
        taker: &mut impl TokenReceiver,
        timeout: Duration,
    ) -> Result<(), Refusal> {
        let request = self.request(server, prompt)?;
        let id = request.id.clone();
        let output = KserveOutput::new(&self.model, self.data_type, &id);
        let mut client = server.caller.client();
        let request = server.caller.call(tokio_stream::once(request));
        let until = Instant::now() + timeout;
        let begins = client.model_stream_infer(request);
        let begins = StallTimer::new(until).wait(begins, taker, until).await??;
        read(&mut Messages(begins.into_inner()), output, taker, timeout).await
    }

    fn request(&self, server: &KserveServer, prompt: &[i64]) -> Result<ModelInferRequest, String> {
        let (mut inputs, mut contents) = (Vec::new(), Vec::new());
        for Input { name, data_type, shape, holds } in &self.inputs {
            let mut shape = shape.clone();
            contents.push(match holds {
                InputContent::Prompt => {
                    shape.extend(i64::try_from(prompt.len()));
                    ids(prompt, data_type)
                }
                InputContent::PromptTokens => {
                    let tokens = i64::try_from(prompt.len()).unwrap_or(i64::MAX);
                    let bytes = scalar_bytes(InputValue::Integer(tokens), data_type);
                    bytes.ok_or_else(|| format!("{name:?} cannot hold {tokens}"))?.into()
                }
                InputContent::Constant(bytes) => bytes.clone(),
            });
            let (name, datatype) = (name.clone(), data_type.clone());
            inputs.push(InferInputTensor { name, datatype, shape });
        }
        let wants_end = InferParameter { parameter_choice: Some(ParameterChoice::BoolParam(true)) };
        Ok(ModelInferRequest {
            model_name: self.model.served.name.clone(),
            id: server.caller.next_id(),
            parameters: [(WANTS_END.to_owned(), wants_end)].into(),
            inputs,
            outputs: vec![InferRequestedOutputTensor { name: self.model.output.clone() }],
            raw_input_contents: contents,
        })
    }
}

struct Messages(Streaming<ModelStreamInferResponse>);

impl Parts for Messages {
    type Part = ModelStreamInferResponse;

    async fn next(&mut self) -> Result<Option<ModelStreamInferResponse>, Refusal> {
        Ok(self.0.message().await?)
    }
}

impl Input {
    fn new(
        model: &DecoupledModel,
        tensor: TensorMetadata,
        given: InputValue,
    ) -> Result<Self, String> {
        let TensorMetadata { name, datatype: data_type, mut shape } = tensor;
        let is = format!("its input {name:?} is {data_type}{shape:?}");
        let served = &model.served;
        let number = match given {
            InputValue::Word(InputSource::Prompt) => {
                let length = shape.pop();
                if length != Some(-1) || of_ids(&data_type).is_none() {
                    return Err(format!("{is}; a prompt must be INT32 or INT64 of dynamic length"));
                }
                None
            }
            InputValue::Word(InputSource::PromptTokens) => Some(InputValue::Integer(0)),
            InputValue::Word(InputSource::MaxTokens) => {
                Some(InputValue::Integer(served.max_tokens.into()))
            }
            InputValue::Word(InputSource::MinTokens) => {
                Some(InputValue::Integer(served.min_tokens.into()))
            }
            InputValue::Word(InputSource::Eos) => {
                Some(InputValue::Integer(served.eos.first().copied().unwrap_or_default().into()))
            }
            constant => Some(constant),
        };
        if shape.iter().any(|length| !matches!(length, -1 | 1)) {
            return Err(format!("{is}, which is more than one row"));
        }
        shape.fill(1);
        let holds = match number {
            None => InputContent::Prompt,
            Some(number) => {
                let bytes = scalar_bytes(number, &data_type);
                let bytes = bytes.ok_or_else(|| format!("{is}, which cannot hold {number:?}"))?;
                match given {
                    InputValue::Word(InputSource::PromptTokens) => InputContent::PromptTokens,
                    _ => InputContent::Constant(bytes.into()),
                }
            }
        };
        Ok(Self { name, data_type, shape, holds })
    }
}

/// Returns the data type with this name in the protocol; `None` if token ids cannot have that type.
fn of_ids(data_type: &str) -> Option<DataType> {
    let types = [DataType::Int32, DataType::Int64];
    types.into_iter().find(|known| name_of(*known) == data_type)
}

/// Encodes token ids, little-endian. The type `data_type` can hold all of them.
fn ids(prompt: &[i64], data_type: &str) -> Bytes {
    match of_ids(data_type) {
        Some(DataType::Int64) => prompt.iter().flat_map(|id| id.to_le_bytes()).collect(),
        _ => prompt.iter().flat_map(|id| (*id as i32).to_le_bytes()).collect(),
    }
}

/// Returns the bytes of a number, little-endian, as the only element of a tensor; `None` if the type
/// is unsupported or cannot hold the number.
fn scalar_bytes(number: InputValue, data_type: &str) -> Option<Vec<u8>> {
    macro_rules! whole {
        ($number:expr, $type:ty) => {
            <$type>::try_from($number).ok().map(|number| number.to_le_bytes().to_vec())
        };
    }
    match (number, data_type) {
        (InputValue::Bool(truth), "BOOL") => Some(vec![u8::from(truth)]),
        (InputValue::Integer(number), "INT8") => whole!(number, i8),
        (InputValue::Integer(number), "INT16") => whole!(number, i16),
        (InputValue::Integer(number), "INT32") => whole!(number, i32),
        (InputValue::Integer(number), "INT64") => whole!(number, i64),
        (InputValue::Integer(number), "UINT8") => whole!(number, u8),
        (InputValue::Integer(number), "UINT16") => whole!(number, u16),
        (InputValue::Integer(number), "UINT32") => whole!(number, u32),
        (InputValue::Integer(number), "UINT64") => whole!(number, u64),
        (InputValue::Integer(number), "FP32") => Some((number as f32).to_le_bytes().to_vec()),
        (InputValue::Integer(number), "FP64") => Some((number as f64).to_le_bytes().to_vec()),
        (InputValue::Float(number), "FP32") => Some((number as f32).to_le_bytes().to_vec()),
        (InputValue::Float(number), "FP64") => Some(number.to_le_bytes().to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_types_or_are_refused() {
        assert_eq!(
            scalar_bytes(InputValue::Integer(-2), "INT32"),
            Some(vec![0xfe, 0xff, 0xff, 0xff])
        );
        assert_eq!(
            scalar_bytes(InputValue::Integer(1), "FP32"),
            Some(1_f32.to_le_bytes().to_vec())
        );
        assert_eq!(
            scalar_bytes(InputValue::Float(0.5), "FP64"),
            Some(0.5_f64.to_le_bytes().to_vec())
        );
        assert_eq!(scalar_bytes(InputValue::Bool(true), "BOOL"), Some(vec![1]));
        for (number, data_type) in [
            (InputValue::Integer(300), "UINT8"),
            (InputValue::Integer(-1), "UINT64"),
            (InputValue::Integer(1), "BOOL"),
            (InputValue::Float(1.0), "INT32"),
            (InputValue::Integer(1), "BYTES"),
        ] {
            assert_eq!(scalar_bytes(number, data_type), None, "{data_type}");
        }
    }
}
