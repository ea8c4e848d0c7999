//! Connection of LoadGen and the QDL.

use std::{
    fmt::Display,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use loadgen_sys::{Abort, ResponseId, Sample, Samples, SystemUnderTest};
use netdiv_qdl::{Failure, LoadGen, Qdl};

use crate::{
    output::{FAILED, run_failure},
    qsl::witness::Witness,
};

/// LoadGen, as the QDL calls it; a witness records what LoadGen receives.
pub(crate) struct OfficialLoadGen {
    pub(crate) witness: Option<Arc<Witness>>,
}

/// Right to complete a sample, and its index.
pub(crate) struct Ticket {
    response: ResponseId,
    index: usize,
}

impl LoadGen for OfficialLoadGen {
    type Ticket = Ticket;

    fn first_token(&self, ticket: &mut Ticket, token: &Bytes) {
        loadgen_sys::first_token(&mut ticket.response, token);
        if let Some(witness) = &self.witness {
            witness.record_responses([(ticket.index, token)].into_iter());
        }
    }

    fn complete(&self, tickets: &mut Vec<Ticket>, payloads: &[Bytes]) {
        if let Some(witness) = &self.witness {
            witness.record_responses(tickets.iter().map(|ticket| ticket.index).zip(payloads));
        }
        let responses = tickets.drain(..).map(|ticket| ticket.response);
        loadgen_sys::complete(responses.zip(payloads.iter().map(|bytes| &bytes[..])));
    }
}

/// System under test, as LoadGen calls it: the nodes behind the QDL.
pub(crate) struct NetworkSut<'a> {
    pub(crate) qdl: &'a Qdl<OfficialLoadGen>,
    /// Records what LoadGen issues.
    pub(crate) witness: Option<&'a Witness>,
    /// Cleared when LoadGen has all responses of a series.
    pub(crate) owes_calls: &'a AtomicBool,
}

impl SystemUnderTest for NetworkSut<'_> {
    fn name(&self) -> Result<String, Abort> {
        self.qdl.name().map_err(run_failure)
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        let samples = samples.inspect(|sample| {
            if let Some(witness) = self.witness {
                witness.record_issue(sample.index);
            }
        });
        let ticket = |Sample { response_id: response, index }| (Ticket { response, index }, index);
        self.qdl.issue(samples.map(ticket)).map_err(run_failure)
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        self.qdl.flush().map_err(run_failure)?;
        self.owes_calls.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Fails the run; the watchdog detects that and ends the process.
    fn abandoned(&self, Abort(reason): Abort) {
        self.qdl.stopper()(Failure::Internal(reason));
    }
}

/// Returns the text of a failed run for LoadGen's log.
pub fn reason(failure: &impl Display) -> String {
    format!("{FAILED}{failure}")
}
