//! LoadGen on one side, the QDL on the other.

use bytes::Bytes;
use loadgen_sys::{Abort, ResponseId, Samples, SystemUnderTest};
use netdiv_qdl::{Failure, LoadGen, Qdl};

/// LoadGen, as the QDL needs it.
pub(crate) struct OfficialLoadGen;

impl LoadGen for OfficialLoadGen {
    type Ticket = ResponseId;

    fn complete(&self, tickets: &mut Vec<ResponseId>, payloads: &[Bytes]) {
        loadgen_sys::complete(tickets.drain(..).zip(payloads.iter().map(|bytes| &bytes[..])));
    }
}

/// The system under test, as LoadGen needs it: the nodes behind the QDL.
pub(crate) struct NetworkSut<'a>(pub(crate) &'a Qdl<OfficialLoadGen>);

impl SystemUnderTest for NetworkSut<'_> {
    fn name(&self) -> Result<String, Abort> {
        self.0.name().map_err(abort)
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        self.0.issue(samples.map(|sample| (sample.response_id, sample.index))).map_err(abort)
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        self.0.flush().map_err(abort)
    }
}

fn abort(failure: Failure) -> Abort {
    Abort(reason(&failure))
}

/// What LoadGen's log says of a failed run.
pub(crate) fn reason(failure: &Failure) -> String {
    format!("netdiv: the run failed: {failure}")
}
