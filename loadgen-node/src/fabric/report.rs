//! All figures of one call: `fabric.json`.

use netdiv_qdl::Transport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::info;

use super::{
    choice::Tried,
    figures::{Bandwidth, Benchmark, OpenLoop, RoundTrip, Route},
    hops::hops,
    matrix::figures::Matrix,
};

/// All figures of one call.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Report {
    /// Of this file's form; 1.
    pub(crate) form: u32,
    /// Of netdiv, at this end.
    pub(crate) version: String,
    /// When it began: RFC 3339, UTC.
    pub(crate) started: String,
    /// How long all of it took.
    pub(crate) seconds: f64,
    /// This machine's name.
    pub(crate) host: Option<String>,
    pub(crate) transport: Transport,
    /// Whether nodes had to prove who they are.
    pub(crate) tls: bool,
    pub(crate) connections_per_node: usize,
    pub(crate) streams_per_connection: usize,
    /// Threads that serve the connections.
    pub(crate) io_threads: usize,
    /// The interface that this machine was told to use.
    pub(crate) interface: Option<String>,
    /// The differentiated services code point of what it sends, where one was chosen.
    pub(crate) dscp: Option<u8>,
    /// Congestion control of what it sends, where one was chosen.
    pub(crate) congestion_control: Option<String>,
    /// How the number of connections was chosen; empty where it was given.
    pub(crate) tried: Vec<Tried>,
    /// What each measurement leaves out at its begin.
    pub(crate) warm_up_ms: u64,
    /// Length of each measurement, after that.
    pub(crate) duration_ms: u64,
    /// How often each bandwidth was measured.
    pub(crate) rounds: usize,
    pub(crate) routes: Vec<Route>,
    pub(crate) round_trips: Vec<RoundTrip>,
    pub(crate) bandwidth: Vec<Bandwidth>,
    /// The same with the nodes of `--plaintext-nodes`, measured in turn with the others.
    pub(crate) plaintext: Plaintext,
    /// One message size for a long time, with `--soak`.
    pub(crate) soak: Option<Bandwidth>,
    /// Messages at a given rate, with `--rate`.
    pub(crate) open_loop: Vec<OpenLoop>,
    /// All pairs of hosts, with `--matrix`.
    pub(crate) matrix: Option<Matrix>,
    pub(crate) benchmarks: Vec<Benchmark>,
}

impl Report {
    /// Counts the hops to each node.
    pub(crate) fn count_hops(&mut self) {
        info!("counting the hops to each node");
        let interface = self.interface.as_deref();
        std::thread::scope(|scope| {
            for route in &mut self.routes {
                scope.spawn(move || route.hops = hops(&route.address, interface));
            }
        });
    }

    /// What was chosen of the way out of this machine.
    pub(crate) fn way_out(&self) -> impl Iterator<Item = (&'static str, String)> {
        let chosen = [
            ("interface", self.interface.clone()),
            ("code point", self.dscp.map(|dscp| dscp.to_string())),
            ("congestion control", self.congestion_control.clone()),
        ];
        chosen.into_iter().filter_map(|(what, value)| Some((what, value?)))
    }
}

/// What is measured without TLS, beside the same with it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Plaintext {
    pub(crate) round_trips: Vec<RoundTrip>,
    pub(crate) bandwidth: Vec<Bandwidth>,
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
        assert_eq!(checked_in, schema, "run this test with NETDIV_WRITE_SCHEMA=1 to renew it");
    }
}
