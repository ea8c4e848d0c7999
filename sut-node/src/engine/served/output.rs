//! The output of one sample as it grows. Whatever casts doubt on its ids is a failure.

use crate::{
    engine::{
        remote::{ids::Ids, reading},
        served::chunk::{Chunk, Counts, Finish},
    },
    model::served::ServedModel,
};

/// An output, and what the server said about it.
pub(super) struct Output<'a> {
    model: &'a ServedModel,
    prompt_tokens: usize,
    ids: Ids<'a>,
    finish: Option<Finish>,
    counts: Counts,
    /// Whether events with tokens hold all of them, where that could be told.
    cumulative: Option<bool>,
    server: Option<String>,
    /// The server has said that nothing follows.
    is_complete: bool,
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
        Self {
            model,
            prompt_tokens,
            ids: Ids::new(model),
            finish: None,
            counts: Counts::default(),
            cumulative: None,
            server: None,
            is_complete: false,
        }
    }
}

impl reading::Output for Output<'_> {
    type Part = Chunk;
    type Remarks = Remarks;

    fn len(&self) -> usize {
        self.ids.len()
    }

    fn take(&mut self, chunk: Chunk) -> Result<&[i32], String> {
        let before = self.ids.len();
        let mut ids = &chunk.ids[..];
        // An event that holds fewer ids than there are tokens holds the new ones alone.
        let holds_all = chunk.so_far.is_some_and(|so_far| ids.len() >= so_far);
        // The first event with tokens holds all of them in either case.
        let tells = chunk.so_far.is_some() && before > 0 && !ids.is_empty();
        if tells && *self.cumulative.get_or_insert(holds_all) != holds_all {
            return Err("some of its events hold all tokens, and some the new ones alone".into());
        }
        if holds_all {
            let known = before.min(ids.len());
            let before = &self.ids.as_slice()[..known];
            if !ids[..known].iter().copied().eq(before.iter().copied().map(i64::from)) {
                return Err("an event takes back tokens that it gave before".into());
            }
            ids = &ids[known..];
        }
        if !ids.is_empty() && self.finish.is_some() {
            return Err("it gives tokens after the end".into());
        }
        for id in ids {
            self.ids.push(*id)?;
        }
        self.finish = chunk.finish.or(self.finish);
        self.counts = chunk.counts.or(self.counts);
        self.server = chunk.server.or(self.server.take());
        self.is_complete = chunk.last;
        Ok(&self.ids.as_slice()[before..])
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn end(&mut self) -> Result<Remarks, String> {
        if !self.is_complete {
            return Err("the answer breaks off".into());
        }
        let got = self.ids.len();
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
        match (self.prompt_tokens, self.counts.prompt) {
            (sent, Some(read)) if sent == read => {}
            (sent, Some(read)) => {
                return Err(format!("the prompt has {sent} tokens, and the server read {read}"));
            }
            (_, None) => {
                return Err("the server does not say how many tokens of the prompt it read".into());
            }
        }
        self.ids.check_least()?;
        match finish {
            Finish::Length => {
                if let Some(why) = self.ids.cut_off() {
                    return Err(format!("{why}; start the server with a longer context"));
                }
            }
            Finish::Stop if !self.model.eos.is_empty() && !self.ids.end_is_eos() => {
                return Err(
                    "it stops, and its last token is none of eos in the model's file".into()
                );
            }
            Finish::Stop => {}
        }
        Ok(Remarks { cached: self.counts.cached, server: self.server.take() })
    }
}
