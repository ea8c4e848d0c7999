//! Reads a response of tokens to its end, for any protocol, and passes the tokens on as they
//! arrive.

use std::time::Duration;

use netdiv_node_common::words::count;
use tokio::time::Instant;

use crate::{
    engine::remote::{
        refusal::Refusal,
        token_receiver::{CLIENT_GONE, STALLED, StallTimer, TokenReceiver},
    },
    model::served_model::ServedModel,
};

/// Parts of a response as they arrive.
pub(crate) trait Parts {
    type Part;

    /// Waits for the next part. Returns `None` at the end of the response.
    fn next(&mut self) -> impl Future<Output = Result<Option<Self::Part>, Refusal>> + Send;
}

/// An output, which each part of a response extends. Ids that may be wrong are an error.
pub(crate) trait TokenOutput {
    type Part;
    /// Facts about the server that a whole output reveals.
    type Remarks;

    /// Returns the number of tokens so far.
    fn len(&self) -> usize;

    /// Adds a part, and returns its new ids.
    fn take(&mut self, part: Self::Part) -> Result<&[i32], String>;

    /// Returns true once a part has marked the end.
    fn is_complete(&self) -> bool;

    /// Checks the whole output, after the last part or at the end of the response.
    fn end(&mut self) -> Result<Self::Remarks, String>;
}

/// Reads a response to its end, and passes its tokens to `taker`. `timeout` is the maximum time
/// without a token.
pub(crate) async fn read<O: TokenOutput>(
    parts: &mut impl Parts<Part = O::Part>,
    mut output: O,
    taker: &mut impl TokenReceiver,
    timeout: Duration,
) -> Result<O::Remarks, Refusal> {
    let mut until = Instant::now() + timeout;
    let mut patience = StallTimer::new(until);
    loop {
        let before = output.len();
        let after = |why: String| after_tokens(before, &why);
        let part = match patience.wait(parts.next(), taker, until).await {
            Ok(Ok(part)) => part,
            Ok(Err(Refusal::Failed(why))) | Err(why) => return Err(after(why)),
            // No tokens were passed on so far, so a retry cannot contradict them.
            Ok(Err(refused)) if before == 0 => return Err(refused),
            Ok(Err(refused)) => return Err(after(refused.into_text())),
        };
        let Some(part) = part else { return output.end().map_err(after) };
        let new = output.take(part).map_err(after)?;
        if !new.is_empty() {
            taker.tokens(new);
            until = Instant::now() + timeout;
        } else if Instant::now() >= until {
            // Parts without tokens are not progress, even if they arrive without a pause.
            return Err(after(STALLED.into()));
        }
        if output.is_complete() {
            let whole = output.len();
            return output.end().map_err(|why| after_tokens(whole, &why));
        }
        if taker.has_gone() {
            return Err(Refusal::Failed(CLIENT_GONE.into()));
        }
    }
}

fn after_tokens(tokens: usize, why: &str) -> Refusal {
    Refusal::Failed(format!("after {}: {why}", count(tokens, "token")))
}

/// Ids of an output. Ids that the model cannot generate are an error.
pub(crate) struct Ids<'a> {
    model: &'a ServedModel,
    ids: Vec<i32>,
}

impl<'a> Ids<'a> {
    pub(crate) fn new(model: &'a ServedModel) -> Self {
        Self { model, ids: Vec::new() }
    }

    pub(crate) fn as_slice(&self) -> &[i32] {
        &self.ids
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Appends the next id.
    pub(crate) fn push(&mut self, id: i64) -> Result<(), String> {
        let (place, model) = (self.ids.len(), self.model);
        if place >= model.max_tokens as usize {
            return Err(format!(
                "the output has more than max_tokens = {} tokens",
                model.max_tokens
            ));
        }
        if self.end_is_eos() {
            return Err(format!(
                "the output continues after the end-of-text token, token {}",
                place - 1
            ));
        }
        match i32::try_from(id) {
            Ok(known) if (0..i64::from(model.vocabulary)).contains(&id) => self.ids.push(known),
            _ => {
                let most = model.vocabulary - 1;
                return Err(format!("token {place} is {id}; ids go from 0 to {most}"));
            }
        }
        Ok(())
    }

    /// Returns true if the last id is in the model's `eos`, the ids that end an output.
    pub(crate) fn end_is_eos(&self) -> bool {
        let last = self.ids.last().and_then(|id| u32::try_from(*id).ok());
        last.is_some_and(|id| self.model.eos.contains(&id))
    }

    /// Checks the minimum length of a complete output.
    pub(crate) fn check_least(&self) -> Result<(), String> {
        let (got, least) = (self.ids.len(), self.model.min_tokens);
        if got < least as usize {
            let got = count(got, "token");
            return Err(format!("the output has {got}, fewer than min_tokens = {least}"));
        }
        Ok(())
    }

    /// Returns the reason why an output that ended at its length is incomplete, or `None` if it may
    /// be complete.
    pub(crate) fn cut_off_reason(&self) -> Option<String> {
        let (got, most) = (self.ids.len(), self.model.max_tokens);
        (got < most as usize).then(|| {
            let got = count(got, "token");
            format!("the output was cut off after {got}, before max_tokens = {most}")
        })
    }
}
