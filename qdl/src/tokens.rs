//! Tokens of responses: checks of their consistency, and their latencies.
//!
//! The QDL computes no tokens (rules, section 6.2.1). A node sends the whole output, which is
//! compared here with its first token, its token count, and the node's description.

use std::{collections::BTreeSet, num::NonZero, time::Duration};

use hdrhistogram::Histogram;
use netdiv_contract::{
    MAX_IDS, layout,
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

/// Properties of prompts and outputs that a node announces.
#[derive(Debug, Clone)]
pub(crate) struct AnnouncedTokens {
    /// Number of ids, which begin at 0.
    vocabulary: u32,
    /// Maximum number of tokens of an output; `None` if unknown.
    max_output: Option<usize>,
    /// Ids that end an output; empty if unknown.
    ends: BTreeSet<u32>,
    /// Set if prompts are packed payloads.
    is_packed: bool,
}

impl AnnouncedTokens {
    /// Returns the announcements of a node, whose outputs have at most `most` tokens; `None` if its
    /// outputs are not tokens.
    pub(crate) fn of(description: &DescribeResponse, most: Option<NonZero<u32>>) -> Option<Self> {
        let DescribeResponse { tokens, vocabulary, max_output_tokens, .. } = *description;
        let limits = [NonZero::new(max_output_tokens), most].into_iter().flatten();
        tokens.then(|| Self {
            vocabulary: if vocabulary > 0 { vocabulary } else { MAX_IDS },
            max_output: limits.min().map(|most| most.get() as usize),
            ends: description.end_tokens.iter().copied().collect(),
            is_packed: description.input.as_ref().is_some_and(layout::is_packed),
        })
    }

    /// Checks an output. Returns true if the node's limit cut it off: it has the maximum length,
    /// and its last token does not end it. Its finish reason is then `length`. `None` if the node
    /// does not announce both.
    pub(crate) fn check_output(&self, output: &[u8]) -> Result<Option<bool>, String> {
        let (ids, rest) = output.as_chunks::<ID_BYTES>();
        if !rest.is_empty() {
            return Err(format!("it has {} bytes; expected {ID_BYTES} per token", output.len()));
        }
        let count = ids.len();
        if let Some(most) = self.max_output.filter(|most| count > *most) {
            return Err(format!("it has {count} tokens, and the maximum is {most}"));
        }
        // Folds have no early exit, so the compiler vectorizes them. A negative id counts as high.
        if ids.iter().map(unsigned_id).fold(0, u32::max) >= self.vocabulary {
            let known = |id: &i32| u32::try_from(*id).is_ok_and(|id| id < self.vocabulary);
            let wrong = tokens::ids(output).enumerate().find(|(_, id)| !known(id));
            let (place, id) = wrong.unwrap_or_default();
            let most = self.vocabulary - 1;
            return Err(format!("its token {place} is {id}, and ids go from 0 to {most}"));
        }
        let (Some(lowest), Some(highest)) = (self.ends.first(), self.ends.last()) else {
            return Ok(None);
        };
        let is_end = |id: &[u8; ID_BYTES]| self.ends.contains(&unsigned_id(id));
        let before_last = &ids[..count.saturating_sub(1)];
        let may_be_end = |id: u32| (*lowest..=*highest).contains(&id);
        if before_last.iter().map(unsigned_id).fold(false, |any, id| any | may_be_end(id))
            && let Some(place) = before_last.iter().position(is_end)
        {
            let id = unsigned_id(&before_last[place]);
            return Err(format!("it goes on after its token {place}, {id}, one of end_tokens"));
        }
        let has_end = ids.last().is_some_and(is_end);
        match self.max_output {
            Some(most) if count < most && !has_end => Err(format!(
                "it ends after {count} tokens without one of end_tokens, and the maximum is {most}"
            )),
            most => Ok(most.map(|_| !has_end)),
        }
    }

    /// Returns the maximum number of tokens in the prompt of a sample of `bytes`.
    pub(crate) fn prompt_tokens(&self, bytes: usize) -> u32 {
        let bytes = bytes as u64;
        let tokens =
            if self.is_packed { tokens::prompt_tokens(bytes) } else { bytes / ID_BYTES as u64 };
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

fn unsigned_id(id: &[u8; ID_BYTES]) -> u32 {
    u32::from_le_bytes(*id)
}

/// Maximum number of samples that a report names.
const NAMED_SAMPLES: usize = 5;

/// Counts and latencies of the tokens in the responses of one node or lane.
#[derive(Debug, Clone)]
pub struct TokenReport {
    /// Number of tokens in all responses.
    pub tokens: u64,
    /// Number of responses with a single token, which have no entry in `further`.
    pub one_token: u64,
    /// Indices of samples with such a response, the lowest ones.
    pub one_token_samples: BTreeSet<usize>,
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
            one_token_samples: BTreeSet::new(),
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
        // A node may report times that are longer than the sample took.
        let compute = reply.compute_ns.min(nanoseconds(whole));
        let prefill = reply.first_token_ns.min(compute);
        self.prefill.saturating_record(prefill);
        self.decode.saturating_record(compute - prefill);
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

    /// Notes the sample of a response with a single token, so that the verdict can name it.
    pub(crate) fn name_one_token(&mut self, sample: usize) {
        self.one_token_samples.insert(sample);
        if self.one_token_samples.len() > NAMED_SAMPLES {
            self.one_token_samples.pop_last();
        }
    }

    /// Adds the counts of another lane.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.one_token += other.one_token;
        other.one_token_samples.iter().for_each(|sample| self.name_one_token(*sample));
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

/// Returns the number of the model's tokens of a response that does not consist of token ids.
pub(crate) fn parse_count(reply: &InferResponse, sample: usize) -> Result<u32, String> {
    match reply.token_count {
        0 => Err(format!(
            "that to sample {sample} has a token_count of 0; expected the number of the model's tokens, 1 or more"
        )),
        count => Ok(count),
    }
}

/// Checks that a whole response has as many tokens as it reports, and begins with the token `first`
/// that was sent early, if any.
pub(crate) fn check_response(
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

    fn announced(vocabulary: u32, max_output_tokens: u32, end_tokens: &[u32]) -> AnnouncedTokens {
        limited(vocabulary, max_output_tokens, end_tokens, 0)
    }

    /// Returns the announcements of a node, with a limit of the run.
    fn limited(
        vocabulary: u32,
        max_output_tokens: u32,
        end_tokens: &[u32],
        most: u32,
    ) -> AnnouncedTokens {
        let end_tokens = end_tokens.to_vec();
        let description = DescribeResponse {
            tokens: true,
            vocabulary,
            max_output_tokens,
            end_tokens,
            ..Default::default()
        };
        AnnouncedTokens::of(&description, NonZero::new(most)).unwrap()
    }

    #[test]
    fn an_output_at_the_limit_without_an_end_token_is_cut() {
        assert!(AnnouncedTokens::of(&DescribeResponse::default(), None).is_none());
        for (announced, output, is_cut) in [
            (announced(0, 0, &[2]), &[7, 2][..], None),
            (announced(0, 3, &[]), &[7, 7], None),
            (announced(10, 3, &[9, 2]), &[7, 7, 7], Some(true)),
            (announced(10, 3, &[9, 2]), &[7, 7, 2], Some(false)),
            (announced(10, 3, &[9, 2]), &[7, 9], Some(false)),
            (announced(10, 3, &[9, 2]), &[2], Some(false)),
            (limited(10, 9, &[2], 3), &[7, 7, 7], Some(true)),
        ] {
            assert_eq!(announced.check_output(&tokens::to_bytes(output)), Ok(is_cut), "{output:?}");
        }
    }

    #[test]
    fn an_output_that_breaks_an_announcement_is_refused_with_the_figures() {
        let all = announced(10, 3, &[9, 2]);
        for (announced, output, words) in [
            (&all, &[7, 7, 7, 2][..], "it has 4 tokens, and the maximum is 3"),
            (&all, &[7, 10, 2], "its token 1 is 10, and ids go from 0 to 9"),
            (&all, &[-1, 2], "its token 0 is -1, and ids go from 0 to 9"),
            (&announced(0, 0, &[]), &[5, -7], "its token 1 is -7, and ids go from 0 to 2147483647"),
            (&all, &[7, 2, 7], "it goes on after its token 1, 2, one of end_tokens"),
            (&announced(0, 0, &[9, 2]), &[9, 2], "it goes on after its token 0, 9, one of"),
            (
                &all,
                &[7, 7],
                "it ends after 2 tokens without one of end_tokens, and the maximum is 3",
            ),
            (&all, &[], "it ends after 0 tokens without one of end_tokens"),
        ] {
            let why = announced.check_output(&tokens::to_bytes(output)).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        assert!(
            all.check_output(&[7, 0, 0, 0, 2]).unwrap_err().contains("it has 5 bytes; expected 4")
        );
    }
}
