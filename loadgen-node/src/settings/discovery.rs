//! Discovery of the nodes.

use std::time::Duration;

use netdiv_node_common::process::{CommandSettings, Keys};
use netdiv_transport::discovery::{self, Nodes};
use serde::Serialize;

use super::bounds::at_least_one;
use crate::RunError;

/// Treatment of DNS names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DnsNames {
    /// DNS names are looked up.
    LookUp,
    /// DNS names are only checked as text, and name no node: the command prints settings without
    /// using the network.
    Leave,
}

impl DnsNames {
    /// Returns the treatment of DNS names in a command with these settings. A command that only
    /// prints its settings does not look them up.
    pub(crate) fn of<T: Keys>(settings: &CommandSettings<T>) -> Self {
        if settings.only_prints() { Self::Leave } else { Self::LookUp }
    }
}

/// Keys about the nodes besides their addresses.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Network")]
pub struct DiscoveryArgs {
    /// Port of nodes that are named without a port
    #[arg(long, value_name = "PORT", default_value_t = discovery::PORT)]
    pub nodes_port: u16,
    /// Required number of nodes. DNS names are looked up until as many are found, for at most
    /// --connect-timeout [default: as many as are found]
    #[arg(long, value_name = "N")]
    pub nodes_expected: Option<usize>,
}

impl DiscoveryArgs {
    /// Returns the addresses of the nodes that `named`, the value of `--nodes`, names. Looks up DNS
    /// names until they are found, for at most `patience`.
    pub(super) fn nodes(
        &self,
        named: Option<&[String]>,
        patience: Duration,
        names: DnsNames,
    ) -> Result<Vec<String>, RunError> {
        let expected = self.nodes_expected;
        let expected = expected.map(|n| at_least_one("nodes-expected", n)).transpose()?;
        let port = self.nodes_port;
        let option = "--nodes";
        let nodes = Nodes { option, named: named.unwrap_or_default(), port, expected, patience };
        let found = match names {
            DnsNames::LookUp => nodes.discover(),
            DnsNames::Leave => nodes.addresses(),
        };
        found.map_err(|error| RunError::Usage(error.to_string()))
    }
}
