//! Settings of what others can see of a run.

use std::net::SocketAddr;

use netdiv_traces::Settings;
use netdiv_transport::socket_address;
use serde::{Deserialize, Serialize};

use super::usage;
use crate::RunError;

/// Keys of what others can see of a run.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Observability")]
pub struct ObserveArgs {
    /// Address of the Prometheus endpoint, while the run lasts [default: none]
    #[arg(long, value_name = "IP:PORT")]
    pub metrics: Option<String>,
    /// Send a trace of the run, with its phases, to the OTLP collector at this address, by gRPC; needs a build with the feature
    /// otlp [default: none]
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
}

/// What others can see of a run.
#[derive(Debug, Clone)]
pub(crate) struct Observe {
    /// Address of the Prometheus endpoint.
    pub(crate) metrics: Option<SocketAddr>,
    /// Where the trace of the run goes.
    pub(crate) traces: Option<Settings>,
}

impl ObserveArgs {
    pub(super) fn resolve(&self) -> Result<Observe, RunError> {
        let traces = Settings::new(self.otlp.as_deref(), None)
            .map_err(|error| RunError::Usage(error.to_string()))?;
        Ok(Observe {
            metrics: self.metrics.as_deref().map(address).transpose()?,
            traces: traces.map(Settings::all),
        })
    }
}

fn address(text: &str) -> Result<SocketAddr, RunError> {
    match socket_address(text) {
        Ok(address) if address.port() == 0 => {
            usage("--metrics with port 0 takes any free port, which nobody would know; name a port")
        }
        Ok(address) => Ok(address),
        Err(why) => usage(format!("--metrics {text}: {why}")),
    }
}
