//! Events: each reply is an event in the response to a sample.

use netdiv_contract::v1::{InferResponse, Part};

use crate::failure::Failure;

/// Reply of a node: an event in the response to one sample. Only the last event ends the response:
/// until it arrives, the sample keeps its slot and its share of the window, its deadlines apply,
/// and it is not counted as answered.
pub(crate) enum Reply {
    /// First token, which LoadGen receives at once.
    First(InferResponse),
    /// Part of the output after the first token, for display only. LoadGen never receives it.
    Part(InferResponse),
    /// Whole output, or an error instead of an output. It is the last event of its sample.
    Last(InferResponse),
    /// Reply whose field `part` has a number that the wire contract does not define; holds this
    /// number.
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

/// Violation of the order of events by a node. A first token after the last event is no such
/// violation: its id no longer belongs to a sample, so it is dropped like any stale reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderViolation {
    /// The node sent a second first token for one sample.
    Second,
    /// The node sent the last event without the first token, which the stream had requested.
    Missing,
    /// The node sent a first token on a stream that did not request first tokens.
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
