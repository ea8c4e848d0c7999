//! Serving engines over gRPC, by the Open Inference Protocol v2 (KServe), as Triton implements it.
//!
//! `load.rs` probes the servers (`probe.rs`), then creates the instances. An `exchange.rs` sends a
//! sample to one of the servers (`remote/`, `caller.rs`): a `ModelInfer` for each pass of a
//! workload (`tensors.rs`), or a `ModelStreamInfer` for a prompt (`tokens.rs`). The responses to a
//! prompt are joined to an `output.rs`, which fails rather than return ids that may be wrong.

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
