//! What goes wrong, in a status and a text.

use netdiv_plugin::abi::{self, Status};
use tch::TchError;

pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn failed(text: String) -> Self {
        Self { status: abi::FAILED, text }
    }

    pub(crate) fn refused(text: String) -> Self {
        Self { status: abi::REFUSED, text }
    }

    /// From libtorch's words.
    pub(crate) fn torch(text: &str) -> Self {
        let full = ["out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED"];
        let status = match full.iter().any(|words| text.contains(words)) {
            true => abi::OUT_OF_MEMORY,
            false => abi::FAILED,
        };
        Self { status, text: brief(text) }
    }
}

impl From<TchError> for Failure {
    fn from(error: TchError) -> Self {
        Self::torch(&error.to_string())
    }
}

/// The part of libtorch's text that says what is wrong: without the trace of the script before it and the C++ one after.
fn brief(text: &str) -> String {
    let end = text.find("Exception raised from").unwrap_or(text.len());
    let text = &text[..end];
    let start = text.rfind("RuntimeError: ").map_or(0, |at| at + "RuntimeError: ".len());
    text[start..].trim().to_owned()
}
