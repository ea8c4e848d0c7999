//! SGLang's service `sglang.grpc.scheduler.SglangScheduler`.

use super::{Habits, Message, Prompt, Said};
use proto::{
    GenerateRequest, GenerateResponse, SamplingParams, TokenizedInput, generate_response::Response,
};

/// Messages and client of the package.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
pub(in crate::engine::served) mod proto {
    tonic::include_proto!("sglang.grpc.scheduler");
}

/// Where nothing is said, no token would be asked for, and parts may have several. The service has no seed, and needs none where
/// nothing is drawn.
pub(super) fn request(prompt: Prompt<'_>) -> GenerateRequest {
    let Prompt { name, ids, model } = prompt;
    let sampling = SamplingParams {
        temperature: 0.0,
        top_p: 1.0,
        top_k: -1,
        min_p: 0.0,
        frequency_penalty: 0.0,
        presence_penalty: 0.0,
        repetition_penalty: 1.0,
        max_new_tokens: Some(model.max_tokens),
        min_new_tokens: model.min_tokens,
        stop_token_ids: model.eos.clone(),
        ignore_eos: false,
        n: 1,
        no_stop_trim: true,
        stream_interval: Some(1),
    };
    GenerateRequest {
        request_id: name,
        tokenized: Some(TokenizedInput { input_ids: ids }),
        sampling_params: Some(sampling),
        stream: true,
    }
}

impl Message for GenerateResponse {
    const HABITS: Habits = Habits::SoFar;

    fn said(self) -> Option<Said> {
        Some(match self.response? {
            Response::Chunk(part) => Said {
                index: part.index,
                ids: part.token_ids,
                prompt: part.prompt_tokens,
                cached: Some(part.cached_tokens),
                made: part.completion_tokens,
                finish: None,
            },
            Response::Complete(end) => Said {
                index: end.index,
                ids: end.output_ids,
                prompt: end.prompt_tokens,
                cached: Some(end.cached_tokens),
                made: end.completion_tokens,
                finish: Some(end.finish_reason),
            },
        })
    }
}
