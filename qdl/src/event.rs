//! A reply is an event in the answer to a sample.

use netdiv_contract::v1::{InferResponse, Part};

use crate::failure::Failure;

/// What a node sends about one sample. Only the last event ends the answer: slot, window, deadlines and counters wait
/// for it.
pub(crate) enum Reply {
    /// The first token, which LoadGen is told of at once.
    First(InferResponse),
    /// More of the output, to look at only: LoadGen is never told.
    Part(InferResponse),
    /// The whole output, or why there is none.
    Last(InferResponse),
    /// A part of that number, which the wire contract does not have.
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

/// How a node breaks the order of events. A first token *after* the last event is not among these: its id belongs to no
/// sample any more, as that of any stale reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutOfOrder {
    /// A second first token of one sample.
    Second,
    /// The last event came, and the first token that was due had not.
    Missing,
    /// A first token on a stream where none is due.
    Unasked,
}

impl OutOfOrder {
    /// The failure of the run, where that node has sent it.
    pub(crate) fn failure(self, node: &str) -> Failure {
        let node = node.to_owned();
        match self {
            Self::Second => Failure::SecondFirst { node },
            Self::Missing => Failure::MissingFirst { node },
            Self::Unasked => Failure::UnaskedFirst { node },
        }
    }
}
