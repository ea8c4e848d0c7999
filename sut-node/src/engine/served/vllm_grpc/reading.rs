//! What the messages of an answer say together.

use std::mem;

use crate::engine::served::{
    chunk::{Chunk, Counts, finish},
    vllm_grpc::proto::{
        GenerateComplete, GenerateResponse, GenerateStreamChunk, generate_response::Response,
    },
};

/// The messages so far.
#[derive(Default)]
pub(super) struct Reading {
    ids: Vec<u32>,
    /// Tokens that the messages counted.
    made: usize,
    cached: u32,
    has_ended: bool,
}

impl Reading {
    /// What the end of the call says, once: that nothing follows; `None`: it is too early.
    pub(super) fn last(&mut self) -> Option<Chunk> {
        mem::take(&mut self.has_ended).then(|| Chunk { last: true, ..Chunk::default() })
    }

    pub(super) fn take(&mut self, message: GenerateResponse) -> Result<Chunk, String> {
        if self.has_ended {
            return Err("messages follow the end of the output".into());
        }
        let chunk = match message.response {
            Some(Response::Chunk(part)) => self.part(part),
            Some(Response::Complete(end)) => self.end(end),
            None => Err("it is neither a part of the output nor its end".into()),
        };
        chunk.map_err(|why| format!("a message cannot be used: {why}"))
    }

    fn part(&mut self, part: GenerateStreamChunk) -> Result<Chunk, String> {
        only_output(part.index)?;
        self.made = self.made.saturating_add(part.completion_tokens as usize);
        self.cached = self.cached.max(part.cached_tokens);
        self.ids.extend(&part.token_ids);
        Ok(Chunk {
            ids: part.token_ids.into_iter().map(i64::from).collect(),
            counts: self.counts(part.prompt_tokens, self.made),
            ..Chunk::default()
        })
    }

    /// The end repeats the ids that came last, and counts them alone or all of the output. By a count of all, its ids may be
    /// new. By a count of its own, which vLLM gives, a new token that is as the last one is taken for the repetition.
    fn end(&mut self, end: GenerateComplete) -> Result<Chunk, String> {
        only_output(end.index)?;
        let finish = finish(&end.finish_reason, "stop", "length")?;
        let (before, own) = (self.ids.len(), end.output_ids.len());
        let counted = end.completion_tokens as usize;
        let is_new = before > 0 && own > 0 && counted == before + own;
        if !is_new && !self.ids.ends_with(&end.output_ids) {
            return Err("the end has other tokens than those that came before".into());
        }
        self.has_ended = true;
        self.cached = self.cached.max(end.cached_tokens);
        let made = if counted == own { self.made } else { counted };
        let counts = self.counts(end.prompt_tokens, made);
        let new = if is_new { end.output_ids } else { Vec::new() };
        let ids = new.into_iter().map(i64::from).collect();
        Ok(Chunk { ids, finish: Some(finish), counts, ..Chunk::default() })
    }

    fn counts(&self, prompt: u32, made: usize) -> Counts {
        Counts {
            prompt: Some(prompt as usize).filter(|count| *count > 0),
            output: Some(made),
            cached: Some(self.cached as usize),
        }
    }
}

fn only_output(index: u32) -> Result<(), String> {
    match index {
        0 => Ok(()),
        _ => Err(format!("one output was asked for, and this is number {index}")),
    }
}
