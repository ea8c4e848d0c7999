//! The sample in the node.

use std::time::Instant;

use netdiv_contract::tally::PayloadDigest;

use crate::{
    batching::batcher::Queued,
    model::payload::Payload,
    sample::{admission::Admitted, replies::ReplyTo},
};

/// A decoded sample that waits for a batch.
pub(crate) struct Sample {
    pub(crate) id: u64,
    /// Decoded payload; empty once the engine has it.
    pub(crate) payload: Payload,
    /// Digest of the payload as received, if the session keeps digests.
    pub(crate) digest: Option<PayloadDigest>,
    /// Length in tokens, pairs and so on.
    pub(crate) length: usize,
    pub(crate) arrived: Instant,
    /// Permit of a sample from the network.
    pub(crate) admitted: Option<Admitted>,
    pub(crate) replies: ReplyTo,
}

#[cfg(test)]
impl Sample {
    /// Creates a sample without bytes that arrives now.
    pub(crate) fn empty(id: u64, replies: ReplyTo) -> Self {
        let (payload, arrived) = (Payload::default(), Instant::now());
        Self { id, payload, digest: None, length: 1, arrived, admitted: None, replies }
    }
}

impl Queued for Sample {
    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn length(&self) -> usize {
        self.length
    }

    fn bytes(&self) -> usize {
        self.payload.bytes().len()
    }
}
