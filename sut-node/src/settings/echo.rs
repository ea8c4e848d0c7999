//! Settings of the engine `echo`.

use std::time::Duration;

use netdiv_contract::limits;
use netdiv_process::{ByteCount, TimeSpan};
use serde::{Deserialize, Serialize};

use crate::{
    ground::range::{bytes, time},
    settings::error::ConfigError,
};

/// Keys of the engine `echo`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Engines without a model")]
pub struct EchoArgs {
    /// echo: bytes of each answer, 0 for the sample's own bytes [default: 8]
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub echo_answer_bytes: Option<ByteCount>,
    /// echo: time that each batch takes [default: 0s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub echo_batch: Option<TimeSpan>,
    /// echo: time that each sample of a batch adds [default: 0s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub echo_sample: Option<TimeSpan>,
}

/// Settings of the engine `echo`.
#[derive(Debug, Clone)]
pub struct EchoConfig {
    /// Bytes of each answer; 0: the sample's own bytes.
    pub answer_bytes: usize,
    /// Time that each batch takes.
    pub per_batch: Duration,
    /// Time that each sample adds.
    pub per_sample: Duration,
}

impl EchoArgs {
    /// The first of these keys that is set.
    pub(super) fn any(&self) -> Option<&'static str> {
        let Self { echo_answer_bytes, echo_batch, echo_sample } = self;
        let keys = [
            ("echo-answer-bytes", echo_answer_bytes.is_some()),
            ("echo-batch", echo_batch.is_some()),
            ("echo-sample", echo_sample.is_some()),
        ];
        keys.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
    }

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
