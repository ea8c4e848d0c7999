//! All figures of one measurement: `fabric.json`.

use std::path::Path;

use netdiv_qdl::Transport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    connection_choice::ConnectionTrial,
    figures::{Bandwidth, Benchmark, OpenLoop, RoundTrip, Route},
    matrix::figures::Matrix,
};
use crate::{RunError, output};

/// All figures of one measurement.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Report {
    /// Number of this file's format; 1.
    pub(crate) form: u32,
    /// Version of netdiv on this machine.
    pub(crate) version: String,
    /// Time at which the measurement began: RFC 3339, UTC.
    pub(crate) started: String,
    /// Duration of the whole measurement in seconds.
    pub(crate) seconds: f64,
    /// Name of this machine.
    pub(crate) host: Option<String>,
    pub(crate) transport: Transport,
    /// Set if TLS was used, so that nodes had to prove their identity.
    pub(crate) tls: bool,
    pub(crate) connections_per_node: usize,
    pub(crate) streams_per_connection: usize,
    /// Threads that serve the connections.
    pub(crate) io_threads: usize,
    /// Egress interface of this machine, if one was chosen.
    pub(crate) interface: Option<String>,
    /// Differentiated services code point of this machine's packets, if one was chosen.
    pub(crate) dscp: Option<u8>,
    /// Congestion control of this machine's connections, if one was chosen.
    pub(crate) congestion_control: Option<String>,
    /// Measurements that chose the number of connections; empty if an option set it.
    pub(crate) tried: Vec<ConnectionTrial>,
    /// Time in ms that each measurement leaves out at its beginning.
    pub(crate) warm_up_ms: u64,
    /// Length of each measurement after its warm-up, in ms.
    pub(crate) duration_ms: u64,
    /// Number of times that each bandwidth was measured.
    pub(crate) rounds: usize,
    pub(crate) routes: Vec<Route>,
    pub(crate) round_trips: Vec<RoundTrip>,
    pub(crate) bandwidth: Vec<Bandwidth>,
    /// Figures of one message size for a long time, with `--soak`.
    pub(crate) soak: Option<Bandwidth>,
    /// Figures of messages at a fixed rate, with `--rate`.
    pub(crate) open_loop: Vec<OpenLoop>,
    /// Figures of all pairs of hosts, with `--matrix`.
    pub(crate) matrix: Option<Matrix>,
    pub(crate) benchmarks: Vec<Benchmark>,
}

impl Report {
    /// Reads the measurement in a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, RunError> {
        output::read_json(folder, output::FABRIC, "fabric")
    }

    /// Returns the chosen options of egress: each name with its value.
    pub(crate) fn way_out(&self) -> impl Iterator<Item = (&'static str, String)> {
        let chosen = [
            ("interface", self.interface.clone()),
            ("code point", self.dscp.map(|dscp| dscp.to_string())),
            ("congestion control", self.congestion_control.clone()),
        ];
        chosen.into_iter().filter_map(|(what, value)| Some((what, value?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_schema_is_that_of_the_types() {
        let schema = schemars::schema_for!(Report);
        let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fabric.schema.json");
        if std::env::var_os("NETDIV_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &schema).unwrap();
        }
        let checked_in = std::fs::read_to_string(path).unwrap();
        assert_eq!(checked_in, schema, "run this test with NETDIV_WRITE_SCHEMA=1 to regenerate it");
    }
}
