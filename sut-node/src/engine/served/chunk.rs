//! Parts of a response, in a form that does not depend on the dialect of the server.

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
