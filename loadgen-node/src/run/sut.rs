//! LoadGen on one side, the QDL on the other.

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
    output::{FAILED, failed},
    qsl::witness::Witness,
};

/// LoadGen, as the QDL needs it; a witness is told what it gets.
pub(crate) struct OfficialLoadGen {
    pub(crate) witness: Option<Arc<Witness>>,
}

/// The right to answer a sample, and which one it is.
pub(crate) struct Ticket {
    response: ResponseId,
    index: usize,
}

impl LoadGen for OfficialLoadGen {
    type Ticket = Ticket;

    fn first_token(&self, ticket: &mut Ticket, token: &Bytes) {
        loadgen_sys::first_token(&mut ticket.response, token);
        if let Some(witness) = &self.witness {
            witness.answered([(ticket.index, token)].into_iter());
        }
    }

    fn complete(&self, tickets: &mut Vec<Ticket>, payloads: &[Bytes]) {
        if let Some(witness) = &self.witness {
            witness.answered(tickets.iter().map(|ticket| ticket.index).zip(payloads));
        }
        let responses = tickets.drain(..).map(|ticket| ticket.response);
        loadgen_sys::complete(responses.zip(payloads.iter().map(|bytes| &bytes[..])));
    }
}

/// The system under test, as LoadGen needs it: the nodes behind the QDL.
pub(crate) struct NetworkSut<'a> {
    pub(crate) qdl: &'a Qdl<OfficialLoadGen>,
    /// Told what LoadGen issues.
    pub(crate) witness: Option<&'a Witness>,
    /// Cleared when LoadGen has all answers of a series.
    pub(crate) owes_calls: &'a AtomicBool,
}

impl SystemUnderTest for NetworkSut<'_> {
    fn name(&self) -> Result<String, Abort> {
        self.qdl.name().map_err(failed)
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        let samples = samples.inspect(|sample| {
            if let Some(witness) = self.witness {
                witness.issued(sample.index);
            }
        });
        let ticket = |Sample { response_id: response, index }| (Ticket { response, index }, index);
        self.qdl.issue(samples.map(ticket)).map_err(failed)
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        self.qdl.flush().map_err(failed)?;
        self.owes_calls.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// The watchdog sees the failure and ends the process.
    fn abandoned(&self, Abort(reason): Abort) {
        self.qdl.stopper()(Failure::Internal(reason));
    }
}

/// Returns the text of a failed run in LoadGen's log.
pub fn reason(failure: &impl Display) -> String {
    format!("{FAILED}{failure}")
}
