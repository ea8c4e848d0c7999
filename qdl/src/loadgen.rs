//! The LoadGen node, as seen from the QDL: the source of samples, and the receiver of responses.

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::encoding::Encoded;

/// Samples of a QSL by index, as the QSL encoded them; `None` if a sample is not loaded. Payloads
/// are shared, not copied.
pub type LoadedSamples = Arc<[Option<Encoded>]>;

/// The QSL, as seen from the QDL.
pub trait SampleSource: Send + Sync + 'static {
    /// Returns the samples that are loaded now. Called once for many samples.
    fn loaded(&self) -> LoadedSamples;
}

impl SampleSource for LoadedSamples {
    fn loaded(&self) -> LoadedSamples {
        self.clone()
    }
}

/// LoadGen, as seen from the QDL. LoadGen requires that both calls for a sample come from one
/// long-lived thread: here, the thread that serves the connection.
pub trait LoadGen: Send + Sync + 'static {
    /// Right to answer one sample, once; it stands for LoadGen's id of the sample. It never leaves
    /// this process.
    type Ticket: Send + Unpin + 'static;

    /// Reports the first token of a sample, as soon as it has arrived; LoadGen records the time of
    /// the call. If first tokens are due, this is called once for each sample, before the sample is
    /// completed. The ticket is borrowed, because completing the sample consumes it.
    fn first_token(&self, ticket: &mut Self::Ticket, token: &Bytes);

    /// Sets the number of the model's tokens of a response that does not consist of token ids. If
    /// LoadGen counts tokens, this is called before such a sample is completed.
    fn set_token_count(&self, _ticket: &mut Self::Ticket, _tokens: u32) {}

    /// Answers samples and empties `tickets`. The response of `tickets[i]` is `payloads[i]`.
    fn complete(&self, tickets: &mut Vec<Self::Ticket>, payloads: &[Bytes]);
}
