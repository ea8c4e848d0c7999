//! Plan of a soak's runs, drawn from the seed: the same seed gives the same runs and faults in the
//! same order.

use std::time::Duration;

use e2e::LoadGen;
use rand::{Rng as _, rngs::StdRng};

use crate::cluster::{MORTAL, NAMES};

/// Load that LoadGen generates in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// Many small samples in one query.
    Offline,
    /// Fewer and longer samples.
    OfflineLong,
    /// Poisson arrivals.
    Server,
    /// Single queries, one after another.
    SingleStream,
    /// Eight samples at a time.
    MultiStream,
    /// Every sample of the set once, with digests at both ends.
    Accuracy,
}

/// Fault of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    None,
    /// A client that sends and never reads.
    FloodingClient,
    /// Connections that send nothing.
    SilentClients,
    /// Every byte arrives later, some much later.
    SlowWire,
    /// Nothing passes for a moment.
    WireCutBriefly,
    /// The node is stopped for a moment.
    NodeFrozenBriefly,
    /// The LoadGen node is stopped for a moment.
    LoadGenFrozenBriefly,
    /// Nothing passes, permanently.
    WireCut,
    /// The connection is reset.
    WireReset,
    /// The node is stopped permanently.
    NodeFrozen,
    /// The node is killed.
    NodeKilled,
    /// The node gets SIGTERM.
    NodeTerminated,
    /// The LoadGen node gets SIGINT.
    LoadGenInterrupted,
    /// The LoadGen node is killed.
    LoadGenKilled,
}

impl Fault {
    /// Returns the fault's label in tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::FloodingClient => "a client that floods and never reads",
            Self::SilentClients => "50 connections that send nothing",
            Self::SlowWire => "wire: delay, jitter and loss",
            Self::WireCutBriefly => "wire: cut for 0.3 s",
            Self::NodeFrozenBriefly => "node: stopped for 0.3 s",
            Self::LoadGenFrozenBriefly => "LoadGen node: stopped for 0.3 s",
            Self::WireCut => "wire: cut permanently",
            Self::WireReset => "wire: connections reset",
            Self::NodeFrozen => "node: stopped permanently",
            Self::NodeKilled => "node: SIGKILL",
            Self::NodeTerminated => "node: SIGTERM",
            Self::LoadGenInterrupted => "LoadGen node: SIGINT",
            Self::LoadGenKilled => "LoadGen node: SIGKILL",
        }
    }

    /// Returns true if the run must end as without a fault.
    pub fn is_harmless(self) -> bool {
        self < Self::WireCut
    }

    /// Returns true if the fault costs one node of three, and nothing else.
    pub fn costs_a_node(self) -> bool {
        (Self::WireCut..=Self::NodeTerminated).contains(&self)
    }

    /// Returns true if samples pass through a relay.
    pub fn is_of_wire(self) -> bool {
        use Fault::*;
        matches!(self, SlowWire | WireCutBriefly | WireCut | WireReset)
    }
}

/// Faults from which a plan draws.
const FAULTS: [Fault; 13] = [
    Fault::FloodingClient,
    Fault::SilentClients,
    Fault::SlowWire,
    Fault::WireCutBriefly,
    Fault::NodeFrozenBriefly,
    Fault::LoadGenFrozenBriefly,
    Fault::WireCut,
    Fault::WireReset,
    Fault::NodeFrozen,
    Fault::NodeKilled,
    Fault::NodeTerminated,
    Fault::LoadGenInterrupted,
    Fault::LoadGenKilled,
];

/// Share of runs without a fault.
const WITHOUT_FAULT: f64 = 0.55;

/// Plan of one run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Transport, which alternates between runs.
    pub transport: &'static str,
    pub load: Load,
    pub fault: Fault,
    /// Index of the node that the fault affects.
    pub victim: usize,
    /// Time of the fault, from the beginning of LoadGen's test.
    pub after: Duration,
    /// Continues without a lost node if set.
    pub redispatch: bool,
    /// Adds a checksum to every message if set.
    pub checksums: bool,
}

impl Plan {
    /// Draws the plan of run `number`.
    pub fn draw(number: usize, random: &mut StdRng) -> Self {
        let load = match (number / 2 % 2, random.random_range(0..8)) {
            (_, 0) => Load::SingleStream,
            (_, 1) => Load::MultiStream,
            (_, 2) => Load::Accuracy,
            (0, 3) => Load::OfflineLong,
            (0, _) => Load::Offline,
            _ => Load::Server,
        };
        // All values are drawn each time, so that one choice does not change later ones.
        let calm = random.random_bool(WITHOUT_FAULT);
        let drawn = FAULTS[random.random_range(0..FAULTS.len())];
        let fault = if calm { Fault::None } else { drawn };
        let any = random.random_range(0..NAMES.len());
        let mortal = matches!(fault, Fault::NodeKilled | Fault::NodeTerminated);
        Self {
            transport: if number.is_multiple_of(2) { "grpc" } else { "quic" },
            load,
            fault,
            victim: if mortal { MORTAL } else { any },
            after: Duration::from_millis(random.random_range(0..1200)),
            // A run with digests ends when it loses a node.
            redispatch: random.random::<bool>() && load != Load::Accuracy,
            checksums: random.random(),
        }
    }

    /// Returns the plan as text, for the list of runs.
    pub fn words(&self) -> String {
        let options = [("redispatch", self.redispatch), ("checksums", self.checksums)];
        let options: String =
            options.iter().filter(|(_, on)| *on).map(|(name, _)| format!(", {name}")).collect();
        format!("{:?} over {}{options}; {}", self.load, self.transport, self.fault.words())
    }

    /// Creates the run, against these addresses.
    pub fn run(&self, addresses: &[&str]) -> LoadGen {
        let scenario = match self.load {
            Load::Offline | Load::OfflineLong | Load::Accuracy => "offline",
            Load::Server => "server",
            Load::SingleStream => "single-stream",
            Load::MultiStream => "multi-stream",
        };
        let run = LoadGen::new(addresses, scenario)
            .transport(self.transport)
            // Long enough for a busy machine, short enough for a soak.
            .args(&["--keepalive-timeout", "2500ms", "--sample-timeout", "6s"])
            .args(&["--control-timeout", "6s", "--quiet", "--benchmark", "fabric"])
            .args(&["--setting", "server_target_latency_ns=1000000000"]);
        let run = if self.redispatch { run.args(&["--on-node-loss", "redispatch"]) } else { run };
        let run = if self.checksums { run.args(&["--checksums"]) } else { run };
        let small = "synthetic:1024x64";
        match self.load {
            Load::Offline => run.args(&["--dataset", small]).short(1000, 1_500_000),
            Load::OfflineLong => run.args(&["--dataset", "synthetic:64x100000"]).short(1000, 6000),
            Load::Server => run.args(&["--dataset", small]).short(2000, 5000),
            Load::SingleStream => run.args(&["--dataset", small]).short(1500, 4000),
            Load::MultiStream => run.args(&["--dataset", small]).short(1500, 4000),
            Load::Accuracy => {
                run.args(&["--dataset", "synthetic:100000x64", "--mode", "accuracy", "--digests"])
            }
        }
    }
}
