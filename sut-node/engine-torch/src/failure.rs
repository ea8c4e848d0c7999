//! Errors of the plug-in: a status of the ABI and a text.

use netdiv_plugin::abi::{self, Status};
use tch::TchError;

/// Error texts of CUDA (`cudaGetErrorString`) after which a process cannot use the device any more:
/// "To continue using CUDA, the process must be terminated and relaunched" (NVIDIA, CUDA Runtime
/// API 13.0, `enum cudaError` in driver_types.h).
const LOST: [&str; 14] = [
    "an illegal memory access was encountered",
    "the launch timed out and was terminated",
    "device-side assert triggered",
    "hardware stack error",
    "an illegal instruction was encountered",
    "misaligned address",
    "operation not supported on global/shared address space",
    "invalid program counter",
    "unspecified launch failure",
    "tensor memory not completely freed",
    "the MPS client has been terminated by the server",
    "Invalid access of peer GPU memory over nvlink or a hardware error",
    // Broken hardware. The enum names no remedy, but later results of the device would not be
    // reliable.
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error detected during the execution",
];

/// Status and error text of a function of the table that failed.
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

    /// Classifies an error of libtorch. Only its text reveals full memory or a lost device.
    pub(crate) fn torch(text: &str) -> Self {
        let full = ["out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED"];
        let has_one_of = |all: &[&str]| all.iter().any(|words| text.contains(words));
        let is_lost = text.contains("CUDA") && has_one_of(&LOST);
        let status = match is_lost {
            true => abi::DEVICE_LOST,
            false if has_one_of(&full) => abi::OUT_OF_MEMORY,
            false => abi::FAILED,
        };
        Self { status, text: brief(text) }
    }

    /// Turns a failure to load a file into an error that rejects the file. `refusal` makes the
    /// message from the original one. Returns out-of-memory and lost-device failures unchanged.
    pub(crate) fn of_file(self, refusal: impl FnOnce(String) -> String) -> Self {
        if self.status == abi::FAILED { Self::refused(refusal(self.text)) } else { self }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.status == abi::DEVICE_LOST
    }
}

impl From<TchError> for Failure {
    fn from(error: TchError) -> Self {
        Self::torch(&error.to_string())
    }
}

/// Returns the essential part of an error text of libtorch, without the trace of the script before
/// that part and the C++ trace after it.
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

    /// Builds a text like c10::cuda::c10_cuda_check_implementation of libtorch 2.11.
    fn cuda_error(what: &str) -> String {
        format!(
            "CUDA error: {what}\nSearch for `cudaError' in https://docs.nvidia.com/cuda/cuda-runtime-api/ for more \
             information.\nCUDA kernel errors might be asynchronously reported at some other API call"
        )
    }

    #[test]
    fn a_lost_device_is_told_by_what_cuda_says() {
        for what in LOST {
            let lost = Failure::torch(&cuda_error(what));
            assert_eq!(lost.status, abi::DEVICE_LOST, "{what}");
            assert!(lost.is_lost() && lost.text.starts_with(&format!("CUDA error: {what}")));
            // The error is also detected in a graph's trace.
            let traced = format!("Traceback:\nRuntimeError: {}", cuda_error(what));
            assert!(Failure::torch(&traced).is_lost(), "{what}");
        }
    }

    #[test]
    fn what_the_next_batch_may_survive_is_no_lost_device() {
        for (what, status) in [
            ("out of memory", abi::OUT_OF_MEMORY),
            ("invalid argument", abi::FAILED),
            ("invalid configuration argument", abi::FAILED),
            ("no kernel image is available for execution on the device", abi::FAILED),
            ("too many resources requested for launch", abi::FAILED),
        ] {
            assert_eq!(Failure::torch(&cuda_error(what)).status, status, "{what}");
        }
        // This error is not CUDA's.
        assert_eq!(Failure::torch("misaligned address of a view").status, abi::FAILED);
    }

    #[test]
    fn a_file_is_refused_unless_memory_or_the_device_failed() {
        let load = |text| Failure::torch(text).of_file(|why| format!("x.pt: {why}"));
        let refused = load("not a ZIP archive");
        assert_eq!((refused.status, &*refused.text), (abi::REFUSED, "x.pt: not a ZIP archive"));
        assert_eq!(load("CUDA out of memory").status, abi::OUT_OF_MEMORY);
        assert!(load(&cuda_error(LOST[0])).is_lost());
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
