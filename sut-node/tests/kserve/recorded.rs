//! Recorded messages of Triton (`tests/engines`).

use std::path::Path;

use netdiv_contract::layout::DataType;
use prost::Message as _;

use super::fake::tiny;
use crate::{
    engine::kserve::{
        output::{check_response, output, read_stream},
        rpc::{ModelInferResponse, ModelMetadataResponse},
        tokens::TokenPlan,
    },
    model::decoupled::{DecoupledModel, InputSource, InputValue},
};

fn recorded(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/engines");
    std::fs::read(folder.join(format!("triton_{name}.bin"))).unwrap()
}

/// Returns the description of the model whose messages were recorded.
fn tokens() -> DecoupledModel {
    let mut model = tiny(3, &[]);
    model.served.name = "tokens".into();
    model.served.vocabulary = 1000;
    model.output = "output_ids".into();
    let inputs = [("input_ids", InputSource::Prompt), ("max_tokens", InputSource::MaxTokens)];
    model.inputs = inputs.map(|(name, word)| (name.to_owned(), InputValue::Word(word))).into();
    model
}

/// Reads the first `messages` messages of a recorded stream as the response to the request `id`.
fn read(name: &str, messages: usize, id: &str) -> (Vec<i32>, Result<(), String>) {
    let mut stream = Vec::new();
    for number in 0..messages {
        let message = recorded(&format!("stream_{name}_{number}"));
        prost::encode_length_delimiter(message.len(), &mut stream).unwrap();
        stream.extend(message);
    }
    read_stream(&tokens(), id, &stream)
}

#[test]
fn streams_end_as_triton_says() {
    // The prompt 1, 2, 3: ids begin with its sum, and continue in steps of 7.
    assert_eq!(read("three", 3, "s"), (vec![6, 13, 20], Ok(())));
    assert_eq!(read("last_tokens", 2, "s"), (vec![3, 10, 17], Ok(())));
    for (name, messages, id, ids, words) in [
        ("three", 2, "s", 3, "the final response is missing"),
        ("three", 3, "t", 0, "the response is to request \"s\", not \"t\""),
        ("error", 2, "s", 1, "the server failed: injected failure"),
        ("none", 1, "s", 0, "the output is empty"),
    ] {
        let (got, outcome) = read(name, messages, id);
        assert_eq!((got.len(), outcome.unwrap_err()), (ids, words.to_owned()), "{name}");
    }
}

#[test]
fn descriptions_of_models_are_read() {
    let of = |name: &str| ModelMetadataResponse::decode(&recorded(name)[..]).unwrap();
    let metadata = of("metadata_tokens");
    TokenPlan::new(tokens().into(), &metadata.inputs, &metadata.outputs).map(drop).unwrap();
    let metadata = of("metadata_scores");
    assert_eq!(metadata.inputs[0].shape, [-1, 1, 8, 8]);
    assert_eq!(metadata.outputs[0].datatype, "FP32");
}

#[test]
fn an_answer_is_read() {
    let answer = ModelInferResponse::decode(&recorded("scores")[..]).unwrap();
    check_response(&answer, "scores", "q").unwrap();
    let scores = output(&answer, "scores", DataType::Float32).unwrap();
    // All 64 bytes of the image are 3.
    let want: Vec<_> =
        (0..10).flat_map(|n| f32::from(u8::from(n == 192 % 10)).to_le_bytes()).collect();
    assert_eq!((&scores.shape[..], &scores.data[..]), (&[1, 10][..], &want[..]));
}

#[test]
fn an_answer_without_its_bytes_is_refused() {
    let answer = ModelInferResponse::decode(&recorded("no_bytes")[..]).unwrap();
    check_response(&answer, "label", "q3").unwrap();
    let error = output(&answer, "label", DataType::Int32).map(|_| ()).unwrap_err();
    assert_eq!(error, "the output \"label\" is INT32[1] and has 0 bytes");
}
