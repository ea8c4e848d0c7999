//! Services of serving engines over gRPC: token ids as integers, without text.
//!
//! Each service has a file with its request, and with how its messages become what they all have in common, `Said`. `client.rs`
//! makes the calls, `answer.rs` is one call's answer, and `reading.rs` joins what was said.

pub(super) mod answer;
pub(super) mod client;
mod reading;
pub(super) mod sglang;
pub(super) mod trtllm;
pub(super) mod vllm;

/// A message of a service's answer.
trait Message: prost::Message + Default + 'static {
    /// What the service means by it.
    const HABITS: Habits;

    /// What it says; `None`: it is neither a part of the output nor its end.
    fn said(self) -> Option<Said>;
}

/// What every request needs.
struct Prompt<'a> {
    /// Unique among the requests that the engine has.
    name: String,
    ids: Vec<u32>,
    model: &'a crate::model::served::ServedModel,
}

/// What a message of any of the services says: a part of the output, or its end.
#[derive(Debug, Default)]
struct Said {
    /// Of `n` outputs.
    index: u32,
    ids: Vec<u32>,
    /// Tokens of the prompt.
    prompt: u32,
    /// Tokens of the prompt that were not computed for this request, where it tells.
    cached: Option<u32>,
    /// Tokens of the output.
    made: u32,
    /// Why the output ends here, at its end.
    finish: Option<String>,
}

/// What a service means by its counts of tokens and by the ids of the end.
#[derive(Debug, Clone, Copy)]
enum Habits {
    /// Messages count their own tokens. The end repeats the ids of the last part, or counts all tokens and has new ones.
    Own,
    /// Messages count all tokens so far, and the end repeats the ids of the last part.
    SoFar,
    /// Messages count all tokens so far, and the end repeats all ids.
    Whole,
}
