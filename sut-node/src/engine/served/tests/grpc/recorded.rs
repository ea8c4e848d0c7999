//! What vLLM really sent.

use std::path::Path;

use bytes::Bytes;
use proptest::prelude::*;
use prost::Message as _;

use super::{
    super::fake::ask,
    server::{Vllm, end, part, sends},
};
use crate::{
    engine::{
        read_answer,
        remote::testing::{PROMPT, tiny},
        served::grpc::vllm::proto::GenerateRequest,
    },
    settings::served::{GrpcService, Protocol},
};

const VLLM: Protocol = Protocol::Grpc(GrpcService::Vllm);

const IDS: [i32; 4] = [291, 1611, 379, 410];

fn recorded(name: &str) -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/engines").join(name);
    std::fs::read(path).unwrap().into()
}

#[test]
fn recorded_answers_give_their_ids() {
    for (name, max_tokens, eos, ids, outcome) in [
        ("stream", 4, &[][..], &IDS[..], Ok(())),
        ("stop_stream", 6, &[379], &IDS[..3], Ok(())),
        ("unary", 4, &[], &[], Err("the end has other tokens than those that came before")),
    ] {
        let body = recorded(&format!("vllm_grpc_{name}.response.bin"));
        for piece in [1, 7, 1000] {
            let pieces = body.chunks(piece).map(Bytes::copy_from_slice);
            let (taken, got) = read_answer(VLLM, &tiny(max_tokens, eos), 4, pieces);
            assert_eq!(taken, ids, "{name}");
            match outcome {
                Ok(()) => assert_eq!(got, Ok(()), "{name}"),
                Err(words) => assert!(got.unwrap_err().contains(words), "{name}"),
            }
        }
    }
}

/// What was recorded asks for at least four tokens, with another seed, and under another name.
#[test]
fn requests_are_as_the_service_reads_them() {
    let server = Vllm::always(sends(&[part(&[7, 8, 9, 10]), end(&[], "length")]));
    ask(&server.settings(4)).1.unwrap();
    let mut sent = server.seen.requests.lock()[0].clone();
    let mut known = GenerateRequest::decode(recorded("vllm_grpc_stream.request.bin")).unwrap();
    let ids = known.tokenized.as_ref().unwrap().input_ids.iter().map(|id| i64::from(*id));
    assert!(ids.eq(PROMPT));
    assert!(sent.request_id.starts_with("netdiv-"));
    sent.request_id.clone_from(&known.request_id);
    let sampling = known.sampling_params.as_mut().unwrap();
    assert_eq!((sampling.min_tokens, sampling.seed), (4, Some(1)));
    (sampling.min_tokens, sampling.seed) = (1, Some(0));
    sampling.stop_token_ids = vec![2];
    assert_eq!(sent, known);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_answer_that_is_broken_never_ends_well_with_other_ids(
        place in 0..83usize,
        bit in 0..8u32,
        end in 0..83usize,
    ) {
        let mut body = recorded("vllm_grpc_stream.response.bin").to_vec();
        body.truncate(83 - end / 2);
        if let Some(byte) = body.get_mut(place) {
            *byte ^= 1 << bit;
        }
        let (taken, outcome) = read_answer(VLLM, &tiny(4, &[]), 4, [body.into()].into_iter());
        // Only of the last part the ids come twice: in others a bit may make another id.
        if outcome.is_ok() {
            prop_assert_eq!((taken.len(), taken[3]), (4, 410));
        }
    }
}
