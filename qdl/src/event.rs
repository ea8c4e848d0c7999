//! Events: each reply is an event in the response to a sample.

use netdiv_contract::v1::{InferResponse, Part};

use crate::failure::Failure;

/// Message of a node about one sample. Only the last event ends the response: slot, window,
/// deadlines and counters wait for it.
pub(crate) enum Reply {
    /// First token, which LoadGen receives at once.
    First(InferResponse),
    /// Further part of the output, for display only. LoadGen never receives it.
    Part(InferResponse),
    /// Whole output, or the error instead of it.
    Last(InferResponse),
    /// Part with a number that the wire contract does not define.
    Unknown(i32),
}

impl From<InferResponse> for Reply {
    fn from(response: InferResponse) -> Self {
        match Part::try_from(response.part) {
            Ok(Part::Whole) => Self::Last(response),
            Ok(Part::First) => Self::First(response),
            Ok(Part::More) => Self::Part(response),
            Err(_) => Self::Unknown(response.part),
        }
    }
}

/// Violation of the order of events by a node. A first token after the last event is not listed:
/// its id belongs to no sample any more, like the id of any stale reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderViolation {
    /// Second first token of one sample.
    Second,
    /// Last event without the first token, which was due.
    Missing,
    /// First token on a stream that did not request it.
    Unasked,
}

impl OrderViolation {
    /// Returns the failure of the run for this violation by a node.
    pub(crate) fn failure(self, node: &str) -> Failure {
        let node = node.to_owned();
        match self {
            Self::Second => Failure::SecondFirst { node },
            Self::Missing => Failure::MissingFirst { node },
            Self::Unasked => Failure::UnaskedFirst { node },
        }
    }
}
