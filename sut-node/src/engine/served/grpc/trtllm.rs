//! TensorRT-LLM's service `trtllm.TrtllmService`.

use super::{Habits, Message, Prompt, Said};
use proto::{
    GenerateRequest, GenerateResponse, SamplingConfig, TokenizedInput, generate_response::Response,
};

/// Messages and client of the package.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
pub(in crate::engine::served) mod proto {
    tonic::include_proto!("trtllm");
}

/// Where nothing is said, the service draws at random.
pub(super) fn request(prompt: Prompt<'_>) -> GenerateRequest {
    let Prompt { name, ids, model } = prompt;
    let sampling = SamplingConfig {
        beam_width: 1,
        num_return_sequences: 1,
        temperature: Some(0.0),
        top_p: Some(1.0),
        top_k: Some(1),
        min_tokens: Some(model.min_tokens),
        seed: Some(0),
        repetition_penalty: Some(1.0),
        presence_penalty: Some(0.0),
        frequency_penalty: Some(0.0),
    };
    GenerateRequest {
        request_id: name,
        tokenized: Some(TokenizedInput { input_token_ids: ids }),
        sampling_config: Some(sampling),
        max_tokens: model.max_tokens,
        streaming: true,
        stop_token_ids: model.eos.clone(),
        ignore_eos: false,
        include_stop_token_in_output: true,
    }
}

impl Message for GenerateResponse {
    const HABITS: Habits = Habits::Whole;

    fn said(self) -> Option<Said> {
        Some(match self.response? {
            Response::Chunk(part) => Said {
                index: part.sequence_index,
                ids: part.token_ids,
                prompt: part.prompt_tokens,
                cached: told(part.cached_tokens),
                made: part.completion_tokens,
                finish: None,
            },
            Response::Complete(end) => Said {
                index: end.sequence_index,
                ids: end.output_token_ids,
                prompt: end.prompt_tokens,
                cached: told(end.cached_tokens),
                made: end.completion_tokens,
                finish: Some(end.finish_reason),
            },
        })
    }
}

/// The service says 0 as well where its engine does not count.
fn told(cached: u32) -> Option<u32> {
    (cached > 0).then_some(cached)
}
