//! Settings of what others can see of a run.

use std::net::SocketAddr;

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
}

impl ObserveArgs {
    /// Returns the address of the Prometheus endpoint.
    pub(super) fn resolve(&self) -> Result<Option<SocketAddr>, RunError> {
        self.metrics.as_deref().map(address).transpose()
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
