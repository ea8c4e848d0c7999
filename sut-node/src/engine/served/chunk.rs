//! A part of an answer, whatever the dialect.

/// A part of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Token ids, as far as they are given.
    pub(crate) ids: Vec<i64>,
    /// How many tokens there are so far, where `ids` may be all of them and not only the new ones.
    pub(crate) so_far: Option<usize>,
    /// Why the output ends here.
    pub(crate) finish: Option<Finish>,
    /// What the server counts; later chunks bring later counts.
    pub(crate) counts: Counts,
    /// The server's name and version.
    pub(crate) server: Option<String>,
    /// Whether nothing follows.
    pub(crate) last: bool,
}

/// Why an output ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model has ended it.
    Stop,
    /// It is as long as it may be.
    Length,
}

/// A server's own counts of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Of the prompt.
    pub(crate) prompt: Option<usize>,
    /// Of the output.
    pub(crate) output: Option<usize>,
    /// Of the prompt's tokens, those that were not computed for this request.
    pub(crate) cached: Option<usize>,
}

impl Counts {
    /// These, where they are known, else those before.
    pub(crate) fn or(self, before: Self) -> Self {
        Self {
            prompt: self.prompt.or(before.prompt),
            output: self.output.or(before.output),
            cached: self.cached.or(before.cached),
        }
    }
}

/// Reads the word for why an output ends; any other word than these two is a failure.
pub(crate) fn finish(word: &str, stop: &str, length: &str) -> Result<Finish, String> {
    match word {
        _ if word == stop => Ok(Finish::Stop),
        _ if word == length => Ok(Finish::Length),
        _ => Err(format!("the output ends for `{word}`, not because it is complete")),
    }
}
