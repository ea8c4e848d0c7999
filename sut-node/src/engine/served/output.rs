//! The output of one sample as it grows. Whatever casts doubt on its ids is a failure.

use crate::{
    engine::served::chunk::{Chunk, Counts, Finish},
    model::served::ServedModel,
};

/// An output, and what the server said about it.
pub(super) struct Output<'a> {
    model: &'a ServedModel,
    prompt_tokens: usize,
    ids: Vec<i32>,
    finish: Option<Finish>,
    counts: Counts,
    server: Option<String>,
}

/// What is known of the server after a whole output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Remarks {
    /// Tokens of the prompt that it did not compute; `None`: it does not say.
    pub(super) cached: Option<usize>,
    /// Its name and version.
    pub(super) server: Option<String>,
}

impl<'a> Output<'a> {
    pub(super) fn new(model: &'a ServedModel, prompt_tokens: usize) -> Self {
        let counts = Counts::default();
        Self { model, prompt_tokens, ids: Vec::new(), finish: None, counts, server: None }
    }

    /// How many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Takes a chunk, and gives the ids that are new in it.
    pub(super) fn take(&mut self, chunk: Chunk) -> Result<&[i32], String> {
        let before = self.ids.len();
        let mut ids = &chunk.ids[..];
        // An event that holds fewer ids than there are tokens holds the new ones alone.
        if chunk.so_far.is_some_and(|so_far| ids.len() >= so_far) {
            let known = before.min(ids.len());
            if !ids[..known].iter().copied().eq(self.ids[..known].iter().copied().map(i64::from)) {
                return Err("an event takes back tokens that it gave before".into());
            }
            ids = &ids[known..];
        }
        if !ids.is_empty() && self.finish.is_some() {
            return Err("it gives tokens after the end".into());
        }
        for id in ids {
            self.push(*id)?;
        }
        self.finish = chunk.finish.or(self.finish);
        self.counts = chunk.counts.or(self.counts);
        self.server = chunk.server.or(self.server.take());
        Ok(&self.ids[before..])
    }

    fn push(&mut self, id: i64) -> Result<(), String> {
        let (place, model) = (self.ids.len(), self.model);
        if place >= model.max_tokens as usize {
            return Err(format!("it gives more than max_tokens = {} tokens", model.max_tokens));
        }
        let is_end = |id: i32| u32::try_from(id).is_ok_and(|id| model.eos.contains(&id));
        if self.ids.last().is_some_and(|last| is_end(*last)) {
            return Err(format!(
                "it goes on after the end-of-text token, its number {}",
                place - 1
            ));
        }
        match i32::try_from(id) {
            Ok(known) if (0..i64::from(model.vocabulary)).contains(&id) => self.ids.push(known),
            _ => {
                let most = model.vocabulary - 1;
                return Err(format!("its token {place} is {id}; ids go from 0 to {most}"));
            }
        }
        Ok(())
    }

    /// Ends the output: the server has said that nothing follows.
    pub(super) fn end(self) -> Result<Remarks, String> {
        let (got, model) = (self.ids.len(), self.model);
        match self.counts.output {
            Some(0) => return Err("it has no token".into()),
            Some(made) if got == 0 => {
                return Err(format!(
                    "the server made {made} tokens and gave no ids of them; docs/ENGINES.md says how it has to be started"
                ));
            }
            Some(made) if made != got => {
                return Err(format!("the server made {made} tokens and gave the ids of {got}"));
            }
            Some(_) => {}
            None if got == 0 => {
                return Err(
                    "it gives no token ids; docs/ENGINES.md says how the server has to be started"
                        .into(),
                );
            }
            None => return Err("the server does not say how many tokens it made".into()),
        }
        let Some(finish) = self.finish else {
            return Err("it ends without a finish reason".into());
        };
        if let Some(read) = self.counts.prompt.filter(|read| *read != self.prompt_tokens) {
            let sent = self.prompt_tokens;
            return Err(format!("the prompt has {sent} tokens, and the server read {read}"));
        }
        if got < model.min_tokens as usize {
            return Err(format!(
                "it has {got} tokens, less than min_tokens = {}",
                model.min_tokens
            ));
        }
        if finish == Finish::Length && got < model.max_tokens as usize {
            return Err(format!(
                "it was cut off after {got} tokens, before max_tokens = {}; start the server with a longer context",
                model.max_tokens
            ));
        }
        let ends = self.ids.last().and_then(|id| u32::try_from(*id).ok());
        if finish == Finish::Stop
            && !model.eos.is_empty()
            && !ends.is_some_and(|id| model.eos.contains(&id))
        {
            return Err("it stops, and its last token is none of eos in the model's file".into());
        }
        Ok(Remarks { cached: self.counts.cached, server: self.server })
    }
}
