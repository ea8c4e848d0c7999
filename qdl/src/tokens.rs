//! Tokens of responses: checks of their consistency, and their latencies.
//!
//! The QDL computes no tokens (rules, section 6.2.1). A node sends the whole output, which is
//! compared here with its first token and its token count.

use std::{collections::BTreeSet, time::Duration};

use hdrhistogram::Histogram;
use netdiv_contract::{
    tokens::{self, ID_BYTES},
    v1::{DescribeResponse, InferResponse, Tokens},
};
use netdiv_node_common::words::AnswerTokens;

use crate::{
    histograms::{histogram, merge_histogram, nanoseconds},
    settings::TokenBounds,
};

/// Returns the tokens that a stream requests from its node, so that LoadGen receives the facts
/// `tokens`.
pub const fn requested_tokens(tokens: AnswerTokens) -> Tokens {
    match tokens {
        AnswerTokens::First => Tokens::First,
        AnswerTokens::Uncounted | AnswerTokens::Counted => Tokens::Whole,
    }
}

/// Maximum length of a node's outputs, in bytes, and the token ids that end an output.
#[derive(Debug, Clone)]
pub(crate) struct OutputLimit {
    bytes: usize,
    ends: BTreeSet<u32>,
}

impl OutputLimit {
    /// Returns the limit that a node announces. `None` if the node announces no limit, or no id
    /// that ends an output: a whole output of the maximum length is then indistinguishable from an
    /// output that was cut off.
    pub(crate) fn of(description: &DescribeResponse) -> Option<Self> {
        let tokens = Some(description.max_output_tokens).filter(|tokens| *tokens > 0)?;
        let ends: BTreeSet<_> = description.end_tokens.iter().copied().collect();
        let bytes = (tokens as usize).saturating_mul(ID_BYTES);
        (!ends.is_empty()).then_some(Self { bytes, ends })
    }

    /// Returns true if an output has the maximum length and its last token does not end it: its
    /// finish reason is `length`.
    pub(crate) fn cuts(&self, output: &[u8]) -> bool {
        let last = || output.last_chunk().map(|id| u32::from_le_bytes(*id));
        output.len() == self.bytes && last().is_none_or(|id| !self.ends.contains(&id))
    }
}

/// Counts and latencies of the tokens in the responses of one node or lane.
#[derive(Debug, Clone)]
pub struct TokenReport {
    /// Number of tokens in all responses.
    pub tokens: u64,
    /// Number of responses with a single token, which have no entry in `further`.
    pub one_token: u64,
    /// Number of responses that the node's limit of output tokens cut off; `None` if the node does
    /// not announce how outputs end.
    pub cut: Option<u64>,
    /// Number of responses that met both time bounds of the settings: for the first token, and for
    /// the mean time per token after it.
    pub within_bounds: u64,
    /// Time from `IssueQuery` to the first token, in nanoseconds.
    pub first: Histogram<u64>,
    /// Mean time per token after the first, in nanoseconds: the time from the first token to the
    /// whole response, divided by the number of tokens after the first.
    pub further: Histogram<u64>,
    /// Time at the node from the start of the sample in the engine to its first token, in
    /// nanoseconds.
    pub prefill: Histogram<u64>,
    /// Time at the node from the first token to the end of the response, in nanoseconds.
    pub decode: Histogram<u64>,
    /// Number of tokens in each response.
    pub lengths: Histogram<u64>,
}

impl Default for TokenReport {
    fn default() -> Self {
        Self {
            tokens: 0,
            one_token: 0,
            cut: None,
            within_bounds: 0,
            first: histogram(3),
            further: histogram(3),
            prefill: histogram(2),
            decode: histogram(2),
            lengths: histogram(3),
        }
    }
}

impl TokenReport {
    /// Counts a response. `whole` is the time from `IssueQuery` to the whole response; `first` is
    /// the time from `IssueQuery` to its first token, if the node sent it early. `is_cut` is true
    /// if the node's limit cut the response off, and `None` if that is unknown.
    pub fn count(
        &mut self,
        reply: &InferResponse,
        whole: Duration,
        first: Option<Duration>,
        bounds: Option<TokenBounds>,
        is_cut: Option<bool>,
    ) {
        let tokens = u64::from(reply.token_count);
        self.tokens += tokens;
        self.lengths.saturating_record(tokens);
        self.one_token += u64::from(tokens == 1);
        if let Some(is_cut) = is_cut {
            *self.cut.get_or_insert_default() += u64::from(is_cut);
        }
        self.prefill.saturating_record(reply.first_token_ns);
        self.decode.saturating_record(reply.compute_ns.saturating_sub(reply.first_token_ns));
        let Some(first) = first else { return };
        let further = match reply.token_count.saturating_sub(1) {
            0 => Duration::ZERO,
            more => whole.saturating_sub(first) / more,
        };
        self.first.saturating_record(nanoseconds(first));
        if tokens > 1 {
            self.further.saturating_record(nanoseconds(further));
        }
        let is_within = |bounds: TokenBounds| first <= bounds.first && further <= bounds.further;
        self.within_bounds += u64::from(bounds.is_some_and(is_within));
    }

    /// Adds the counts of another lane.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.one_token += other.one_token;
        if let Some(cut) = other.cut {
            *self.cut.get_or_insert_default() += cut;
        }
        self.within_bounds += other.within_bounds;
        for (into, from) in [
            (&mut self.first, &other.first),
            (&mut self.further, &other.further),
            (&mut self.prefill, &other.prefill),
            (&mut self.decode, &other.decode),
            (&mut self.lengths, &other.lengths),
        ] {
            merge_histogram(into, from);
        }
    }
}

/// Returns the first token in a message that must contain this token and nothing else.
pub(crate) fn parse_first_token(reply: &InferResponse, payload: &[u8]) -> Result<i32, String> {
    let mut ids = tokens::ids(payload);
    match (ids.next(), payload.len() == ID_BYTES, reply.token_count) {
        (Some(id), true, 1) => Ok(id),
        (_, _, count) => Err(format!(
            "its first token has {} bytes and a token_count of {count}; expected one int32",
            payload.len()
        )),
    }
}

/// Checks that a whole response has as many tokens as it reports, and begins with the token `first`
/// that was sent early, if any.
pub(crate) fn check(
    first: Option<i32>,
    reply: &InferResponse,
    payload: &[u8],
) -> Result<(), String> {
    let (count, bytes) = (reply.token_count as usize, payload.len());
    if count == 0 || count.checked_mul(ID_BYTES) != Some(bytes) {
        return Err(format!(
            "it has {bytes} bytes and a token_count of {count}; expected {ID_BYTES} bytes per token"
        ));
    }
    match (first, tokens::ids(payload).next()) {
        (Some(sent), Some(now)) if sent != now => {
            Err(format!("it begins with the token {now}, but its first token was {sent}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_at_the_limit_without_an_end_token_is_cut() {
        let announced = |max_output_tokens, end_tokens: &[u32]| {
            let end_tokens = end_tokens.to_vec();
            let description =
                DescribeResponse { max_output_tokens, end_tokens, ..Default::default() };
            OutputLimit::of(&description)
        };
        assert!(announced(0, &[2]).is_none() && announced(3, &[]).is_none());
        let limit = announced(3, &[9, 2]).unwrap();
        for (output, is_cut) in [
            (&[7, 7, 7][..], true),
            (&[7, 7, 2], false),
            (&[7, 7, 9], false),
            (&[2, 2, 7], true),
            (&[7, 7], false),
            (&[], false),
        ] {
            assert_eq!(limit.cuts(&tokens::to_bytes(output)), is_cut, "{output:?}");
        }
    }
}
