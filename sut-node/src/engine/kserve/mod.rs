//! Serving engines over gRPC, by the Open Inference Protocol v2 (KServe), as Triton has it.
//!
//! `load.rs` asks the servers (`probe.rs`), then makes the instances. A sample is an `exchange.rs` with one of the servers
//! (`remote/`, `caller.rs`): `ModelInfer` for each pass of a workload (`tensors.rs`), or `ModelStreamInfer` for a prompt
//! (`tokens.rs`), whose answer is joined to an `output.rs`, which fails rather than give ids that may be wrong.

mod caller;
mod exchange;
pub(super) mod load;
pub(super) mod output;
mod probe;
mod reply;
mod scalar;
mod tensors;
mod tokens;

#[cfg(test)]
#[path = "../../../tests/kserve/mod.rs"]
mod tests;

/// Messages and client of package `inference`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
mod rpc {
    tonic::include_proto!("inference");
}
