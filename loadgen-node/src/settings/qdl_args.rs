//! Keys of the QDL. A run in one process uses none of them.

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::process::{ByteCount, TimeSpan};
use netdiv_qdl::{OnNodeLoss, Policy};
use serde::{Deserialize, Serialize};

/// Headings of options in the help.
const DISPATCH: &str = "Dispatch";
pub(super) const FAILURES: &str = "Failures";
pub(super) const RULES: &str = "Rules and evidence";

/// Keys of the QDL.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct QdlArgs {
    /// Policy that assigns samples to streams [default: pull for offline, else least-outstanding]
    #[arg(long, help_heading = DISPATCH)]
    pub policy: Option<Policy>,
    /// Encoding of samples [default: none]
    #[arg(long, help_heading = DISPATCH)]
    pub encoding: Option<Encoding>,
    /// Name of the cluster, the first part of the SUT's name [default: netdiv]
    #[arg(long, value_name = "NAME", help_heading = DISPATCH, hide_short_help = true)]
    pub cluster_name: Option<String>,
    /// Window: maximum number of samples in flight to each node [default: as many as the node
    /// accepts]
    #[arg(long, value_name = "SAMPLES", help_heading = DISPATCH, hide_short_help = true)]
    pub window_samples: Option<usize>,
    /// Window: maximum payload bytes in flight to each node [default: as many as the node accepts]
    #[arg(long, value_name = "BYTES", help_heading = DISPATCH, hide_short_help = true)]
    pub window_bytes: Option<ByteCount>,
    /// Maximum time without a response from a node that has samples in flight [default: 1m]
    #[arg(long, value_name = "TIME", help_heading = FAILURES)]
    pub sample_timeout: Option<TimeSpan>,
    /// Deadline of each sample, even while its node completes other samples [default: 5m]
    #[arg(long, value_name = "TIME", help_heading = FAILURES, hide_short_help = true)]
    pub sample_deadline: Option<TimeSpan>,
    /// Action when a node is lost [default: fail]
    #[arg(long, help_heading = FAILURES)]
    pub on_node_loss: Option<OnNodeLoss>,
    /// Add a checksum (CRC32C) to every message, which detects bits that change on the way. Costs
    /// time
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = FAILURES, hide_short_help = true)]
    pub checksums: Option<bool>,
    /// Prove that every byte arrived as it was sent, by digests of each sample and response at both
    /// ends. Costs time
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = RULES)]
    pub digests: Option<bool>,
}
