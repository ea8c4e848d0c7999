//! Answers of serving engines, as a node reads them.

use bytes::Bytes;
use sut_node::{
    DecoupledModel,
    Dialect::{Llamacpp, Sglang, Trtllm, Vllm},
    GrpcService,
    Protocol::{Grpc, Openai},
    ServedModel,
    engine::{read_answer, read_stream},
};

/// An answer: the first byte says which protocol it is, and how it is cut.
pub(crate) fn answers(data: &[u8]) {
    let Some((first, answer)) = data.split_first() else { return };
    let protocols = [
        Openai(Vllm),
        Openai(Sglang),
        Openai(Trtllm),
        Openai(Llamacpp),
        Grpc(GrpcService::Vllm),
        Grpc(GrpcService::Sglang),
        Grpc(GrpcService::Trtllm),
    ];
    let (protocol, cut) =
        (usize::from(*first) % protocols.len(), *first as usize / protocols.len());
    let protocol = protocols[protocol];
    let model = model("tiny", 2048);
    let read = |cut: usize| {
        let pieces = answer.chunks(cut).map(Bytes::copy_from_slice);
        read_answer(protocol, &model, 4, pieces)
    };
    let (ids, outcome) = read(cut + 1);
    assert!(ids.len() <= 4 && ids.iter().all(|id| (0..2048).contains(id)), "{ids:?}");
    assert!(outcome.is_err() || !ids.is_empty(), "an output without a token");
    let (whole, end) = read(answer.len().max(1));
    assert_eq!((ids, outcome.is_ok()), (whole, end.is_ok()), "cut in another way");
}

/// Messages of Triton's stream, each after its length.
pub(crate) fn streams(data: &[u8]) {
    let served = model("tokens", 32_000);
    let (output, inputs) = ("output_ids".into(), Default::default());
    let (ids, outcome) = read_stream(&DecoupledModel { served, output, inputs }, "s", data);
    assert!(ids.len() <= 4 && ids.iter().all(|id| (0..32_000).contains(id)), "{ids:?}");
    assert!(outcome.is_err() || ids.len() == 4 || ids.last() == Some(&2), "cut off: {ids:?}");
}

fn model(name: &str, vocabulary: u32) -> ServedModel {
    ServedModel {
        name: name.into(),
        sha256: String::new(),
        vocabulary,
        max_input_tokens: 512,
        max_tokens: 4,
        min_tokens: 1,
        eos: vec![2],
    }
}
