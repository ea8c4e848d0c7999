//! Answers without a server: what a test or a fuzzer makes up.

use netdiv_contract::layout::DataType;
use prost::Message as _;

use crate::{
    engine::kserve::{output::Output, rpc::ModelStreamInferResponse},
    model::decoupled::DecoupledModel,
};

/// Reads an answer of messages, each after its length, to a request of that id: the ids as they are given on, and how it ends.
pub(crate) fn read_stream(
    model: &DecoupledModel,
    id: &str,
    mut messages: &[u8],
) -> (Vec<i32>, Result<(), String>) {
    let (mut ids, mut output) = (Vec::new(), Output::new(model, DataType::Int32, id));
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
