//! Errors of the plug-in: a status of the ABI and a text.

use netdiv_plugin::abi::{self, Status};
use tch::TchError;

/// Why a function of the table failed.
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

    /// An error of libtorch: only its text says whether memory is full.
    pub(crate) fn torch(text: &str) -> Self {
        let full = ["out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED"];
        let is_full = full.iter().any(|words| text.contains(words));
        let status = if is_full { abi::OUT_OF_MEMORY } else { abi::FAILED };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_memory_is_told_by_what_libtorch_says() {
        for text in [
            "CUDA out of memory. Tried to allocate 20.00 MiB",
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
            "not enough memory: you tried",
            "CUDNN_STATUS_ALLOC_FAILED",
        ] {
            assert_eq!(Failure::torch(text).status, abi::OUT_OF_MEMORY, "{text}");
        }
        assert_eq!(Failure::torch("shape mismatch").status, abi::FAILED);
    }

    #[test]
    fn a_text_says_what_is_wrong_and_has_no_traces() {
        for (text, want) in [
            ("expected 3 dimensions", "expected 3 dimensions"),
            (
                "The following operation failed in the TorchScript interpreter.\nTraceback:\nRuntimeError: expected 3\n\
                 Exception raised from check at x.cpp:7",
                "expected 3",
            ),
            ("expected 3\nException raised from check at x.cpp:7\nframe #0", "expected 3"),
        ] {
            assert_eq!(Failure::torch(text).text, want);
        }
    }
}
