//! Settings of what others can see of the node.

use netdiv_traces::{Settings, SettingsError};
use serde::{Deserialize, Serialize};

/// Keys of traces.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Observability")]
pub struct ObserveArgs {
    /// Send traces of batches to the OTLP collector at this address, by gRPC; needs a build with the feature otlp
    /// [default: none]
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// Of all batches, how many are traced: from 0 to 1 [default: 0.01]
    #[arg(long, value_name = "RATIO", value_parser = netdiv_process::finite)]
    pub otlp_ratio: Option<f64>,
}

impl ObserveArgs {
    pub(crate) fn resolve(&self) -> Result<Option<Settings>, SettingsError> {
        Settings::new(self.otlp.as_deref(), self.otlp_ratio)
    }
}
