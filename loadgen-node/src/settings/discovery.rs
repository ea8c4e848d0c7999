//! Which nodes there are.

use std::time::Duration;

use netdiv_node_common::process::SettingsFile;
use netdiv_transport::discovery::{self, Nodes};
use serde::{Deserialize, Serialize};

use super::bounds::at_least_one;
use crate::RunError;

/// What becomes of names in the DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// They are looked up.
    LookUp,
    /// They are checked as texts and stand for no node: settings are printed without a network.
    Leave,
}

impl Names {
    /// Those of a command.
    pub(crate) fn of(file: &SettingsFile) -> Self {
        if file.only_prints() { Self::Leave } else { Self::LookUp }
    }
}

/// Keys that say more of the nodes than where they are.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Network")]
pub struct DiscoveryArgs {
    /// Port of nodes that are named without one [default: 50051]
    #[arg(long, value_name = "PORT")]
    pub nodes_port: Option<u16>,
    /// How many nodes there have to be. Names in the DNS are looked up until they are there, as long as --connect-timeout says
    /// [default: as many as are found]
    #[arg(long, value_name = "N")]
    pub nodes_expected: Option<usize>,
}

impl DiscoveryArgs {
    /// Returns the addresses that an option names. Names in the DNS have this long to appear.
    pub(super) fn nodes(
        &self,
        option: &'static str,
        named: Option<&[String]>,
        patience: Duration,
        names: Names,
    ) -> Result<Vec<String>, RunError> {
        let expected = self.nodes_expected;
        let expected = expected.map(|n| at_least_one("nodes-expected", n)).transpose()?;
        let port = self.nodes_port.unwrap_or(discovery::PORT);
        let nodes = Nodes { option, named: named.unwrap_or_default(), port, expected, patience };
        let found = match names {
            Names::LookUp => nodes.discover(),
            Names::Leave => nodes.addresses(),
        };
        found.map_err(|error| RunError::Usage(error.to_string()))
    }
}
