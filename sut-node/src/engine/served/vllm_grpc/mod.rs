//! vLLM's gRPC service: token ids as integers, without text.

pub(super) mod answer;
pub(super) mod client;
mod reading;

/// Messages and client of the package `vllm.grpc.engine`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
pub(super) mod proto {
    tonic::include_proto!("vllm.grpc.engine");
}
