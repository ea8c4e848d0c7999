//! Parts of a response, in a form that does not depend on the dialect of the server, and their output
//! of token ids. Ids that may be wrong are an error.

use netdiv_node_common::words::count;

use crate::{
    engine::remote::reading::{self, Ids},
    model::served_model::ServedModel,
};

/// Remedy for counts of tokens that differ.
const COUNT_HINT: &str =
    "; check the server's version, and --openai-dialect (docs/ENGINES.md#serving-engines)";

/// Output of one sample so far, and the server's statements about it.
pub(super) struct ServedOutput<'a> {
    model: &'a ServedModel,
    prompt_tokens: usize,
    ids: Ids<'a>,
    finish: Option<Finish>,
    counts: Counts,
    /// True if each event holds all tokens so far, false if it holds only the new ones; `None`
    /// until this is known.
    cumulative: Option<bool>,
    server: Option<String>,
    /// Set once the server has marked the end.
    is_complete: bool,
}

/// Facts about the server that a whole output reveals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Remarks {
    /// Number of tokens of the prompt that the server did not compute; `None` if it does not report
    /// this.
    pub(super) cached: Option<usize>,
    /// Name and version of the server, if the response states them.
    pub(super) server: Option<String>,
}

impl<'a> ServedOutput<'a> {
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

impl reading::TokenOutput for ServedOutput<'_> {
    type Part = Chunk;
    type Remarks = Remarks;

    fn len(&self) -> usize {
        self.ids.len()
    }

    fn take(&mut self, chunk: Chunk) -> Result<&[i32], String> {
        let before = self.ids.len();
        let mut ids = &chunk.ids[..];
        // An event with fewer ids than the output has tokens so far holds only the new ones.
        let holds_all = chunk.so_far.is_some_and(|so_far| ids.len() >= so_far);
        // The first event with tokens reveals nothing, because all its tokens are new.
        let tells = chunk.so_far.is_some() && before > 0 && !ids.is_empty();
        if tells && *self.cumulative.get_or_insert(holds_all) != holds_all {
            return Err("some events hold all tokens, and others only the new ones".into());
        }
        if holds_all {
            let known = before.min(ids.len());
            let before = &self.ids.as_slice()[..known];
            if !ids[..known].iter().copied().eq(before.iter().copied().map(i64::from)) {
                return Err("an event contradicts tokens of earlier events".into());
            }
            ids = &ids[known..];
        }
        if !ids.is_empty() && self.finish.is_some() {
            return Err("tokens follow the end of the output".into());
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
            return Err("the response is truncated".into());
        }
        let got = self.ids.len();
        match self.counts.output {
            Some(0) => return Err("the output is empty".into()),
            _ if got == 0 => {
                return Err(
                    "the response has no token ids; start the server as docs/ENGINES.md describes"
                        .into(),
                );
            }
            Some(made) if made != got => {
                return Err(format!(
                    "the server generated {} but returned {}{COUNT_HINT}",
                    count(made, "token"),
                    count(got, "token id")
                ));
            }
            Some(_) => {}
            None => return Err("the server does not report the number of generated tokens".into()),
        }
        let Some(finish) = self.finish else {
            return Err("the response has no finish reason".into());
        };
        match self.counts.prompt {
            Some(read) if read == self.prompt_tokens => {}
            Some(read) => {
                return Err(format!(
                    "the prompt has {}, but the server read {read}{COUNT_HINT}",
                    count(self.prompt_tokens, "token")
                ));
            }
            None => return Err("the server does not report the number of prompt tokens".into()),
        }
        self.ids.check_least()?;
        match finish {
            Finish::Length => {
                if let Some(why) = self.ids.cut_off_reason() {
                    return Err(format!("{why}; start the server with a longer context"));
                }
            }
            Finish::Stop if !self.model.eos.is_empty() && !self.ids.end_is_eos() => {
                return Err(
                    "the output stops, but its last token is not in eos of the model's file".into(),
                );
            }
            Finish::Stop => {}
        }
        Ok(Remarks { cached: self.counts.cached, server: self.server.take() })
    }
}

/// A part of a response.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Token ids in the part; may be empty.
    pub(crate) ids: Vec<i64>,
    /// Number of tokens so far, if `ids` may hold all tokens and not only the new ones.
    pub(crate) so_far: Option<usize>,
    /// Reason for the end of the output, once it has ended.
    pub(crate) finish: Option<Finish>,
    /// Numbers of tokens that the server reports. Numbers in later chunks replace them.
    pub(crate) counts: Counts,
    /// Name and version of the server, if the part states them.
    pub(crate) server: Option<String>,
    /// Set if no further part follows.
    pub(crate) last: bool,
}

/// Reason for the end of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model has ended the output.
    Stop,
    /// The output has its maximum length.
    Length,
}

/// Numbers of tokens that a server reports; `None`: not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Number of tokens of the prompt.
    pub(crate) prompt: Option<usize>,
    /// Number of tokens of the output.
    pub(crate) output: Option<usize>,
    /// Number of tokens of the prompt that the server did not compute for this request.
    pub(crate) cached: Option<usize>,
}

impl Counts {
    /// Returns these counts, with the counts of `before` in place of missing ones.
    pub(crate) fn or(self, before: Self) -> Self {
        Self {
            prompt: self.prompt.or(before.prompt),
            output: self.output.or(before.output),
            cached: self.cached.or(before.cached),
        }
    }
}

/// Reads a finish reason. `stop` and `length` are the server's names for the two reasons of
/// [`Finish`]; any other value is an error.
pub(crate) fn parse_finish(word: &str, stop: &str, length: &str) -> Result<Finish, String> {
    match word {
        _ if word == stop => Ok(Finish::Stop),
        _ if word == length => Ok(Finish::Length),
        _ => Err(format!("the output is incomplete; its finish reason is `{word}`")),
    }
}

/// Fails for another output than the first, the only one that a request asks for.
pub(crate) fn expect_first(index: u64) -> Result<(), String> {
    match index {
        0 => Ok(()),
        _ => Err(format!("expected one output, received output {index}")),
    }
}
