//! The LoadGen node, as seen from the QDL: where samples come from and who is told of answers.

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::encoding::Encoded;

/// The samples of a QSL by index, as it encoded them; `None` where one is not loaded. Payloads are shared, not copied.
pub type LoadedSamples = Arc<[Option<Encoded>]>;

/// The QSL, as seen from the QDL.
pub trait SampleSource: Send + Sync + 'static {
    /// What is loaded now. Asked once for many samples.
    fn loaded(&self) -> LoadedSamples;
}

/// LoadGen, as seen from the QDL. Both calls of a sample come from one long-lived thread, as LoadGen asks for: the one
/// that serves the connection.
pub trait LoadGen: Send + Sync + 'static {
    /// The right to answer one sample, once. It never leaves this process.
    type Ticket: Send + Unpin + 'static;

    /// Reports the first token of a sample, as soon as it has arrived; LoadGen takes the time of the call. Called where
    /// first tokens are due: once for each sample, before the sample is completed. The ticket is borrowed; completing
    /// the sample uses it up.
    fn first_token(&self, ticket: &mut Self::Ticket, token: &Bytes);

    /// Answers samples, each ticket with the payload in its place, and empties the list of tickets.
    fn complete(&self, tickets: &mut Vec<Self::Ticket>, payloads: &[Bytes]);
}
