//! Reads a response of tokens to its end, for any protocol, and passes the tokens on as they
//! arrive.

use std::time::Duration;

use netdiv_node_common::words::count;
use tokio::time::Instant;

use crate::engine::remote::{
    refusal::Refusal,
    token_receiver::{CLIENT_GONE, STALLED, StallTimer, TokenReceiver},
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
