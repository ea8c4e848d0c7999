//! Serving engines over gRPC, by the Open Inference Protocol v2 (KServe), as Triton implements it.
//!
//! `load.rs` probes the servers (`probe.rs`), then creates the instances. For each sample,
//! `exchange.rs` calls one of the servers (`remote/`, `caller.rs`): `ModelInfer` for each pass, a
//! run of the model (`tensors.rs`), or `ModelStreamInfer` for a prompt (`tokens.rs`). `output.rs`
//! joins the responses to a prompt, and fails rather than return ids that may be wrong.

mod caller;
mod exchange;
pub(crate) mod load;
pub(super) mod output;
mod probe;
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
