//! Settings of the engine `echo`, which responds without a model, in batches that take a set time.

use std::time::Duration;

use netdiv_contract::limits;
use netdiv_node_common::process::{ByteCount, TimeSpan};
use serde::{Deserialize, Serialize};

use crate::{
    ground::{
        range::{bytes, time},
        serialized::microseconds,
    },
    settings::error::ConfigError,
};

/// Keys of the engine `echo`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "The engine echo (engines: echo)")]
pub struct EchoArgs {
    /// Bytes of each response; 0 for the sample's own bytes [default: 8]
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub echo_answer_bytes: Option<ByteCount>,
    /// Time of each batch [default: 0s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub echo_batch: Option<TimeSpan>,
    /// Additional time of each sample in a batch [default: 0s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub echo_sample: Option<TimeSpan>,
}

/// Settings of the engine `echo`, which responds without a model, in batches that take a set time.
#[derive(Debug, Clone, Serialize)]
pub struct EchoConfig {
    /// Bytes of each response; 0: the sample's own bytes.
    pub answer_bytes: usize,
    /// Time that each batch takes.
    #[serde(rename = "batch_us", serialize_with = "microseconds")]
    pub per_batch: Duration,
    /// Additional time that a batch takes for each of its samples.
    #[serde(rename = "sample_us", serialize_with = "microseconds")]
    pub per_sample: Duration,
}

impl EchoArgs {
    pub(super) fn resolve(&self) -> Result<EchoConfig, ConfigError> {
        let answer_bytes =
            bytes("echo-answer-bytes", self.echo_answer_bytes, 8, 0..=limits::MAX_PAYLOAD_BYTES)?;
        let time = |key, given| time(key, given, TimeSpan::ZERO, TimeSpan::ZERO);
        Ok(EchoConfig {
            answer_bytes,
            per_batch: time("echo-batch", self.echo_batch)?,
            per_sample: time("echo-sample", self.echo_sample)?,
        })
    }
}
