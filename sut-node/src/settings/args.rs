//! Keys of the command line and the settings file, and their resolution.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, ensure};
use netdiv_contract::{NAME_RULE, encoding::Encoding, is_name, limits};
use netdiv_machine::evidence::Statement;
use netdiv_node_common::{
    process::{ByteCount, Keys, Replace, TimeSpan},
    sanitise::sanitise,
};
use netdiv_transport::discovery;
use serde::Serialize;

use crate::{
    engine::{
        list::{EngineArgs, EngineChoice, EngineConfig, EngineName, with_plugin},
        settings::NodeSettings,
        shared_args::{MAX_THREADS, with_model},
    },
    ground::range::{MILLISECOND, bytes, limit, within},
    sample::token_room::TokenRoom,
    settings::{
        config::Config,
        fabric::FabricArgs,
        network::{NetworkArgs, address},
    },
};

/// Headings of options in the help.
const NODE: &str = "Node";
const BATCHING: &str = "Batching";
const ADMISSION: &str = "Admission";

/// Keys of a node. Each is also a key of the settings file, with underscores.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub struct Args {
    /// Keys of the network.
    #[command(flatten)]
    #[serde(flatten)]
    pub network: NetworkArgs,
    /// Keys of the network to other nodes.
    #[command(flatten)]
    #[serde(flatten)]
    pub fabric: FabricArgs,
    /// Name of this node, unique in its cluster [default: HOSTNAME-PORT]
    #[arg(long, help_heading = NODE)]
    pub name: Option<String>,
    /// Keys of the engine.
    #[command(flatten)]
    #[serde(flatten)]
    pub engine: EngineArgs,
    /// Number of engine instances on each device, with separate batches
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = BATCHING)]
    pub instances: usize,
    /// Maximum number of samples in flight [default: 4 batches for each instance]
    ///
    /// The node stops reading its streams at this limit.
    #[arg(long, value_name = "SAMPLES", help_heading = ADMISSION, hide_short_help = true)]
    pub max_in_flight_samples: Option<u32>,
    /// Maximum number of payload bytes in flight
    ///
    /// The node stops reading its streams at this limit.
    #[arg(long, value_name = "BYTES", help_heading = ADMISSION, hide_short_help = true)]
    #[arg(default_value = format!("{}MiB", limits::DEFAULT_IN_FLIGHT_BYTES >> 20))]
    pub max_in_flight_bytes: ByteCount,
    /// Maximum number of tokens in flight, for engines of tokens [default: any]
    ///
    /// The node stops reading its streams at this limit. Each sample counts with its own tokens and
    /// the longest output. Do not set more than the engines hold at once.
    #[arg(long, value_name = "TOKENS", help_heading = ADMISSION, hide_short_help = true)]
    pub max_in_flight_tokens: Option<u32>,
    /// Maximum size of a sample's payload
    #[arg(long, value_name = "BYTES", help_heading = ADMISSION)]
    #[arg(default_value = format!("{}MiB", limits::DEFAULT_PAYLOAD_BYTES >> 20))]
    pub max_payload_bytes: ByteCount,
    /// Encoding of responses
    #[arg(long, value_name = "ENCODING", hide_short_help = true, help_heading = NODE)]
    #[arg(default_value_t = Encoding::None)]
    pub response_encoding: Encoding,
    /// Number of I/O threads, which serve connections [default: 1 for every 4 cores]
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = NODE)]
    pub io_threads: Option<usize>,
    /// Cores that the I/O threads are bound to, in turn [default: any]
    #[arg(long, value_name = "CORES", value_delimiter = ',', hide_short_help = true, help_heading = NODE)]
    pub pin: Option<Vec<usize>>,
    /// Let the I/O threads poll: lower latency, a whole core for each
    #[arg(long, num_args = 0..=1, default_missing_value = "true", hide_short_help = true, help_heading = NODE)]
    pub busy_poll: Option<bool>,
    /// TOML file with facts about this machine that the node cannot read
    ///
    /// Its keys are the fields of Machine in evidence.proto
    /// (docs/SUBMISSION.md#describe-the-machines).
    #[arg(long, value_name = "FILE", help_heading = NODE)]
    pub evidence: Option<PathBuf>,
    /// Write name, addresses and process id to this JSON file once the node is ready
    ///
    /// The file is removed when the node ends.
    #[arg(long, value_name = "FILE", help_heading = NODE)]
    pub ready_file: Option<PathBuf>,
    /// Address of the Prometheus endpoint [default: none]
    #[arg(long, value_name = "IP:PORT", help_heading = NODE)]
    pub metrics: Option<String>,
    /// Maximum time of an engine in a batch before the node is unwell
    // A LoadGen node removes a node that has not answered for 60 s, and the reason must be reported
    // before that.
    #[arg(long, value_name = "TIME", hide_short_help = true, help_heading = NODE)]
    #[arg(default_value = "45s")]
    pub engine_timeout: TimeSpan,
    /// Maximum time that a shutdown waits for samples in flight
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = NODE)]
    pub drain_timeout: TimeSpan,
}

impl Keys for Args {
    type All = Self;
    const MIXED: &'static [(&'static str, Replace)] = &[
        ("engine", with_plugin),
        ("python", with_plugin),
        ("model", with_model),
        ("fabric_peers", discovery::with_files),
    ];
}

impl Args {
    /// Returns the address on which the node serves its metrics over HTTP; `None` if it does not
    /// serve them.
    pub fn metrics_address(&self) -> anyhow::Result<Option<SocketAddr>> {
        let metrics = self.metrics.as_deref().map(|text| address("metrics", text)).transpose()?;
        ensure!(
            metrics.is_none_or(|address| address.port() != 0),
            "--metrics with port 0 takes any free port, which no client would know; name a port"
        );
        Ok(metrics)
    }

    /// Returns these settings for a command that loads no model: if they name neither a model nor
    /// an engine, the engine is `none`.
    pub fn without_model(&self) -> Self {
        let mut args = self.clone();
        if args.engine.shared.model.is_none() && args.engine.engine.is_none() {
            args.engine.engine = Some(EngineChoice::Word(EngineName::None));
        }
        args
    }

    /// Checks the settings and fills in the defaults. Asks an engine in Python for its declaration.
    pub fn resolve(self) -> anyhow::Result<Config> {
        self.resolve_with(true)
    }

    /// Like [`Self::resolve`], but runs the code of an engine in Python only if `runs_code` is true.
    /// Without its declaration, no engine can be loaded with the settings.
    pub(crate) fn resolve_with(self, runs_code: bool) -> anyhow::Result<Config> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let evidence = self.evidence.as_deref().map(Statement::read).transpose()?;
        let network = self.network.resolve()?;
        let pin = self.pin.clone().unwrap_or_default();
        netdiv_node_common::process::check_cores(&pin)
            .map_err(|why| anyhow::anyhow!("--pin: {why}"))?;
        let metrics = self.metrics_address()?;
        let instances = within("instances", self.instances, 1..=MAX_THREADS)?;
        let (engine, batching, longest_output) =
            self.engine.resolve(cores, instances, runs_code)?;
        let insecure = self.network.insecure.unwrap_or(false);
        let has_model = !matches!(engine, EngineConfig::None(_));
        let fabric_peers = self.fabric.resolve(insecure, has_model)?;
        let max_in_flight_tokens = token_room(self.max_in_flight_tokens, longest_output)?;
        let max_payload_bytes =
            bytes("max-payload-bytes", self.max_payload_bytes, 1..=limits::MAX_PAYLOAD_BYTES)?;
        let port = network.listen.port();
        ensure!(
            port != 0 || self.name.is_some(),
            "--listen with port 0 takes any free port; give the node a --name"
        );
        let name = self.name.unwrap_or_else(|| format!("{}-{port}", host_name()));
        ensure!(is_name(&name), "--name `{}`: {NAME_RULE}", sanitise(&name));
        let node = NodeSettings {
            instances,
            max_in_flight_samples: self
                .max_in_flight_samples
                .map(|samples| within("max-in-flight-samples", samples, 1..=u32::MAX))
                .transpose()?,
            max_in_flight_bytes: bytes(
                "max-in-flight-bytes",
                self.max_in_flight_bytes,
                1..=u32::MAX,
            )?,
            max_in_flight_tokens,
            max_payload_bytes,
            response_encoding: self.response_encoding,
            io_threads: within(
                "io-threads",
                self.io_threads.unwrap_or(cores.div_ceil(4)),
                1..=MAX_THREADS,
            )?,
            pin,
            busy_poll: self.busy_poll.unwrap_or(false),
            engine_timeout: limit("engine-timeout", self.engine_timeout, MILLISECOND)?,
            drain_timeout: limit("drain-timeout", self.drain_timeout, TimeSpan::ZERO)?,
            batching,
            max_connections: network.max_connections,
        };
        let ready_file = self.ready_file;
        Ok(Config { network, node, engine, name, fabric_peers, evidence, ready_file, metrics })
    }
}

/// Returns the limit of the tokens in flight; `None` if `most` is missing. Fails if `most` does not
/// suffice for the engine's longest output and a prompt of one token. `longest_output` is `None` if
/// the engine has no tokens.
fn token_room(most: Option<u32>, longest_output: Option<u32>) -> anyhow::Result<Option<TokenRoom>> {
    let Some(most) = most else { return Ok(None) };
    let longest_output = longest_output
        .context("--max-in-flight-tokens belongs to engines and models whose outputs are tokens")?;
    let most = within("max-in-flight-tokens", most, longest_output + 1..=u32::MAX)?;
    Ok(Some(TokenRoom { max_tokens: most, longest_output }))
}

/// Returns the host name; empty if it cannot be read.
fn host_name() -> String {
    let name = netdiv_node_common::resources::kernel::try_read("/proc/sys/kernel/hostname");
    name.map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
impl Args {
    /// Reads the text of a settings file.
    pub(crate) fn of(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("node.toml");
        std::fs::write(&file, text).unwrap();
        netdiv_node_common::process::read_settings(&file).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settings_file_names_files_from_its_folder_and_words_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.toml");
        let at = |name: &str| folder.path().join(name).display().to_string();
        for (key, value, want) in [
            ("engine", "tokens", "tokens".to_owned()),
            ("engine", "libengine.so", "libengine.so".into()),
            ("engine", "lib/engine.so", at("lib/engine.so")),
            ("model", "digits", "digits".into()),
            ("model", "sorting", "sorting".into()),
            ("model", "m.toml", at("m.toml")),
            ("evidence", "digits", at("digits")),
            ("libtorch", "/opt/libtorch", "/opt/libtorch".into()),
            ("name", "m.toml", "m.toml".into()),
        ] {
            std::fs::write(&path, format!("{key} = {value:?}\n")).unwrap();
            let args: Args = netdiv_node_common::process::read_settings(&path).unwrap();
            assert_eq!(
                toml::Table::try_from(args).unwrap()[key].as_str(),
                Some(&want[..]),
                "{key}"
            );
        }
        std::fs::write(&path, "fabric_peers = ['a,@peers']\n").unwrap();
        let args: Args = netdiv_node_common::process::read_settings(&path).unwrap();
        assert_eq!(args.fabric.fabric_peers, Some(vec![format!("a,@{}", at("peers"))]));
    }
}
