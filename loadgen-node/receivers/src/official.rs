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
use netdiv_qdl::{ConnectError, Expectation, Failure, LoadGen, Qdl, SampleSource, Settings};

use crate::witness::Witness;

/// Beginning of the error by which LoadGen's detail log gives the reason for a failed run.
pub const FAILED: &str = "netdiv: the run failed: ";

/// Returns the error with which a callback ends LoadGen's test. LoadGen writes its text, which
/// contains the reason `why`, into its detail log.
pub fn run_failure(why: impl Display) -> Abort {
    Abort(format!("{FAILED}{why}"))
}

/// LoadGen, as the QDL calls it; a witness records what LoadGen receives.
pub struct OfficialLoadGen {
    /// Witness of the run, if it has one.
    pub witness: Option<Arc<Witness>>,
    /// Set if LoadGen takes first tokens. Otherwise only the QDL counts them.
    pub takes_first_tokens: bool,
}

/// Right to complete a sample, and its index.
pub struct Ticket {
    response: ResponseId,
    index: usize,
}

impl LoadGen for OfficialLoadGen {
    type Ticket = Ticket;

    fn first_token(&self, ticket: &mut Ticket, token: &Bytes) {
        if !self.takes_first_tokens {
            return;
        }
        loadgen_sys::first_token(&mut ticket.response, token);
        if let Some(witness) = &self.witness {
            witness.record_responses([(ticket.index, token)].into_iter());
        }
    }

    fn set_token_count(&self, ticket: &mut Ticket, tokens: u32) {
        ticket.response.set_token_count(tokens);
    }

    fn complete(&self, tickets: &mut Vec<Ticket>, payloads: &[Bytes]) {
        if let Some(witness) = &self.witness {
            witness.record_responses(tickets.iter().map(|ticket| ticket.index).zip(payloads));
        }
        let responses = tickets.drain(..).map(|ticket| ticket.response);
        loadgen_sys::complete(responses.zip(payloads.iter().map(|bytes| &bytes[..])));
    }
}

/// Connects LoadGen to all nodes, like [`Qdl::connect`]. It is not generic, so that this crate
/// contains the QDL's code.
///
/// # Errors
///
/// Fails if a node cannot be reached, or does not meet `expected`.
pub fn connect(
    settings: Settings,
    expected: &Expectation,
    loadgen: OfficialLoadGen,
    source: Arc<dyn SampleSource>,
) -> Result<Qdl<OfficialLoadGen>, ConnectError> {
    Qdl::connect(settings, expected, loadgen, source)
}

/// System under test, as LoadGen calls it: the nodes behind the QDL.
pub struct NetworkSut<'a> {
    /// QDL that has connected to the nodes.
    pub qdl: &'a Qdl<OfficialLoadGen>,
    /// Records what LoadGen issues.
    pub witness: Option<&'a Witness>,
    /// Cleared when LoadGen has all responses of a series.
    pub owes_calls: &'a AtomicBool,
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
