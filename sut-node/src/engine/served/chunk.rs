//! A part of a response, in any dialect.

/// A part of a response.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Token ids, as far as the part holds any.
    pub(crate) ids: Vec<i64>,
    /// Number of tokens so far, if `ids` may hold all tokens and not only the new ones.
    pub(crate) so_far: Option<usize>,
    /// Reason for the end of the output.
    pub(crate) finish: Option<Finish>,
    /// Counts of the server. Later chunks replace them.
    pub(crate) counts: Counts,
    /// Name and version of the server.
    pub(crate) server: Option<String>,
    /// Set if no part follows.
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

/// Counts of tokens that a server reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tokens of the prompt.
    pub(crate) prompt: Option<usize>,
    /// Tokens of the output.
    pub(crate) output: Option<usize>,
    /// Tokens of the prompt that the server did not compute for this request.
    pub(crate) cached: Option<usize>,
}

impl Counts {
    /// Returns these counts, and earlier ones where they are missing.
    pub(crate) fn or(self, before: Self) -> Self {
        Self {
            prompt: self.prompt.or(before.prompt),
            output: self.output.or(before.output),
            cached: self.cached.or(before.cached),
        }
    }
}

/// Reads a finish reason; any value but `stop` and `length` is a failure.
pub(crate) fn parse_finish(word: &str, stop: &str, length: &str) -> Result<Finish, String> {
    match word {
        _ if word == stop => Ok(Finish::Stop),
        _ if word == length => Ok(Finish::Length),
        _ => Err(format!("the output is incomplete; its finish reason is `{word}`")),
    }
}
