//! A sample while it waits in the node.

use std::time::Instant;

use netdiv_contract::tally::PayloadDigest;

use crate::{
    batching::batcher::Batchable,
    model::payload::Payload,
    sample::{admission::AdmissionPermit, replies::ReplyTarget},
};

/// A decoded sample that waits for a batch.
pub(crate) struct QueuedSample {
    pub(crate) id: u64,
    /// Decoded payload; empty once the engine has it.
    pub(crate) payload: Payload,
    /// Digest of the payload as received, if the session keeps digests.
    pub(crate) digest: Option<PayloadDigest>,
    /// Length in tokens, pairs or another unit of the workload.
    pub(crate) length: usize,
    pub(crate) arrived: Instant,
    /// Permit of the sample, released when it is answered; `None` only in tests.
    pub(crate) admitted: Option<AdmissionPermit>,
    pub(crate) replies: ReplyTarget,
}

#[cfg(test)]
impl QueuedSample {
    /// Creates a sample without bytes that arrives now.
    pub(crate) fn empty(id: u64, replies: ReplyTarget) -> Self {
        let (payload, arrived) = (Payload::default(), Instant::now());
        Self { id, payload, digest: None, length: 1, arrived, admitted: None, replies }
    }
}

impl Batchable for QueuedSample {
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
