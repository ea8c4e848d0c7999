//! Keys of the QDL. A run in one process uses none of them.

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::process::{ByteCount, TimeSpan};
use netdiv_qdl::{NetworkSettings, OnNodeLoss, Policy, Settings};
use serde::Serialize;

/// Headings of options in the help.
const DISPATCH: &str = "Dispatch";
pub(super) const FAILURES: &str = "Failures";
pub(super) const RULES: &str = "Rules and evidence";

/// Keys of the QDL.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub struct QdlArgs {
    /// Policy that assigns samples to streams [default: pull for offline, else least-outstanding]
    #[arg(long, help_heading = DISPATCH)]
    pub policy: Option<Policy>,
    /// Encoding of samples
    #[arg(long, default_value_t = Encoding::None, help_heading = DISPATCH)]
    pub encoding: Encoding,
    /// Name of the cluster, the first part of the SUT's name
    #[arg(long, value_name = "NAME", help_heading = DISPATCH, hide_short_help = true)]
    #[arg(default_value = Settings::new(Vec::new()).cluster_name)]
    pub cluster_name: String,
    /// Window: maximum number of samples in flight to each node [default: as many as the node
    /// accepts]
    #[arg(long, value_name = "SAMPLES", help_heading = DISPATCH, hide_short_help = true)]
    pub window_samples: Option<usize>,
    /// Window: maximum payload bytes in flight to each node [default: as many as the node accepts]
    #[arg(long, value_name = "BYTES", help_heading = DISPATCH, hide_short_help = true)]
    pub window_bytes: Option<ByteCount>,
    /// Maximum time without a response from a node that has samples in flight
    #[arg(long, value_name = "TIME", help_heading = FAILURES)]
    #[arg(default_value_t = NetworkSettings::default().sample_timeout.into())]
    pub sample_timeout: TimeSpan,
    /// Deadline of each sample, even while its node completes other samples
    #[arg(long, value_name = "TIME", help_heading = FAILURES, hide_short_help = true)]
    #[arg(default_value_t = NetworkSettings::default().sample_deadline.into())]
    pub sample_deadline: TimeSpan,
    /// Action when a node is lost
    #[arg(long, default_value_t, help_heading = FAILURES)]
    pub on_node_loss: OnNodeLoss,
    /// Add a checksum (CRC32C) to every message, which detects bits that change on the way. Costs
    /// time
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = FAILURES, hide_short_help = true)]
    pub checksums: Option<bool>,
    /// Prove that every byte arrived as it was sent, by digests of each sample and response at both
    /// ends. Costs time
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = RULES)]
    pub digests: Option<bool>,
}
