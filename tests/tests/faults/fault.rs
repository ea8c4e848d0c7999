//! Description of a fault: its run, its injection, and the expected end of the run.

use std::time::Duration;

use e2e::{Behaviour, fake_engine::EngineFault, process::transport};

use super::stage::Stage;

/// A fault, the run in which it is injected, and the expected end of that run. The *struck node* is
/// the node that the fault affects.
pub struct Fault {
    /// Name of the fault; the table's first column.
    pub name: String,
    /// Expected end of the run.
    pub expected: ExpectedEnd,
    /// Maximum time from the fault to the end of the run.
    pub limit: Duration,
    /// Injects the fault.
    pub inject: Box<dyn Fn(&mut Stage) + Send + Sync>,
    /// Time of the injection.
    pub when: FaultTime,
    pub scenario: &'static str,
    /// Kind of run.
    pub run: RunKind,
    /// Kind of payloads.
    pub payload_kind: PayloadKind,
    pub args: Vec<&'static str>,
    /// Options of the LoadGen node for its connections to the struck node, such as certificates. If
    /// a second run over the struck node follows, it has these options too.
    pub papers: Vec<&'static str>,
    pub node: StruckNode,
    /// Options of the struck node, except its name.
    pub node_args: Vec<&'static str>,
    /// Set if the run also has a *good node*: a second node, without a fault.
    pub has_good_node: bool,
    /// Options of the good node, if outputs are tokens.
    pub good_node_args: Vec<&'static str>,
    /// Set if the struck node is behind a relay that can inject faults.
    pub is_wired: bool,
    /// Set if the struck node must serve a second run, after the run with the fault.
    pub is_reusable: bool,
}

/// Expected end of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedEnd {
    /// Exit code 0, and nothing to report.
    Unaffected,
    /// The run completes, and reports this text.
    Finding(&'static str),
    /// Exit code 3 for this reason; LoadGen's log is marked.
    Failed(&'static str),
    /// Exit code 2 before the run begins, with this text.
    Refused(&'static str),
    /// The LoadGen node is gone, and left nothing that looks like a result.
    NoResult,
}

/// Returns the reason that a run reports if it lost the struck node because the node sent nothing.
pub fn silence_reason() -> &'static str {
    match transport() {
        "quic" => "lost node struck: it sent nothing for too long.",
        _ => "lost node struck: it did not answer a ping within --keepalive-timeout.",
    }
}

/// Time of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultTime {
    /// Before the LoadGen node starts.
    Before,
    /// While LoadGen prepares thirty million queries. Meanwhile it makes no call to the LoadGen
    /// node's code.
    Preparing,
    /// While samples are in flight.
    Running,
}

/// Kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Accuracy run of this number of samples.
    Accuracy(usize),
    /// Performance run of this number of seconds, at this number of queries per second.
    Performance(u64, u64),
}

/// Kind of payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadKind {
    /// Bytes: a response is the beginning of its sample.
    Bytes,
    /// Tokens, which LoadGen counts as they arrive.
    Tokens,
}

/// Number of samples of a run that can only end early: more samples than receive a response before
/// the fault is detected.
const MANY: usize = 100_000;

/// Number of samples of a run that takes a slow node two seconds.
const SOME: usize = 4000;

/// Kind of the struck node: a real `sut-node`, a fake node, or another server.
pub enum StruckNode {
    /// A real node that takes 2 ms for each batch of four.
    Slow,
    /// A real node with other options.
    Real,
    /// A fake node.
    Fake(Box<Behaviour>),
    /// A real node in front of a serving engine that misbehaves.
    Serving(EngineFault),
    /// A server that is not a SUT node, at the address that the function returns.
    Elsewhere(fn() -> String),
}

impl Fault {
    /// Creates a fault that must fail the run for this reason: a long Offline run over two slow
    /// nodes.
    pub fn fails(
        name: &str,
        reason: &'static str,
        inject: impl Fn(&mut Stage) + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            expected: ExpectedEnd::Failed(reason),
            // Up to a second until the next heartbeat, three of silence, three until the watchdog
            // ends LoadGen, and as much again for a busy machine.
            limit: Duration::from_secs(15),
            inject: Box::new(inject),
            when: FaultTime::Running,
            scenario: "offline",
            run: RunKind::Accuracy(MANY),
            payload_kind: PayloadKind::Bytes,
            args: vec![],
            papers: vec![],
            node: StruckNode::Slow,
            node_args: vec![],
            has_good_node: true,
            good_node_args: vec![],
            is_wired: false,
            is_reusable: true,
        }
    }

    /// Creates a fault that must not affect a run of two seconds over one slow node.
    pub fn harmless(name: &str, inject: impl Fn(&mut Stage) + Send + Sync + 'static) -> Self {
        Self {
            expected: ExpectedEnd::Unaffected,
            limit: Duration::from_secs(60),
            run: RunKind::Accuracy(SOME),
            has_good_node: false,
            ..Self::fails(name, "", inject)
        }
    }

    /// Creates a fault of a node whose responses must fail a run for this reason.
    pub fn answers(name: &str, reason: &'static str, node: Behaviour) -> Self {
        Self {
            node: StruckNode::Fake(Box::new(node)),
            when: FaultTime::Before,
            has_good_node: false,
            run: RunKind::Accuracy(64),
            is_reusable: false,
            ..Self::fails(name, reason, |_| {})
        }
    }

    /// Creates a fault of the struck node because of which the run must be refused with this text.
    pub fn refused(name: &str, words: &'static str, node: StruckNode) -> Self {
        Self {
            expected: ExpectedEnd::Refused(words),
            when: FaultTime::Before,
            node,
            has_good_node: false,
            run: RunKind::Accuracy(64),
            is_reusable: false,
            ..Self::fails(name, "", |_| {})
        }
    }

    /// Creates a fault that must fail a Server run of 200 samples. The struck node sends tokens at
    /// the pace that the options `pace` set; the good node sends them at once, unless
    /// [`Self::company_args`] sets another pace.
    pub fn of_tokens(
        name: &str,
        reason: &'static str,
        pace: &[&'static str],
        inject: fn(&mut Stage),
    ) -> Self {
        let engine = ["--engine", "tokens", "--tokens-output", "40"];
        Self {
            payload_kind: PayloadKind::Tokens,
            run: RunKind::Accuracy(200),
            good_node_args: engine.into(),
            is_reusable: false,
            ..Self::fails(name, reason, inject)
        }
        .scenario("server")
        .node(&[&engine[..], pace].concat())
    }

    /// Sets the scenario.
    pub fn scenario(mut self, scenario: &'static str) -> Self {
        self.scenario = scenario;
        self
    }

    /// Sets what injects the fault.
    pub fn inject(self, inject: impl Fn(&mut Stage) + Send + Sync + 'static) -> Self {
        Self { inject: Box::new(inject), ..self }
    }

    /// Sets the time of the fault. [`FaultTime::Preparing`] also makes the run a long Server run,
    /// because only for Server does LoadGen prepare that many queries.
    pub fn when(mut self, when: FaultTime) -> Self {
        self.when = when;
        if when == FaultTime::Preparing {
            self.scenario = "server";
            self.run = RunKind::Performance(600, 50_000);
        }
        self
    }

    /// Sets the kind of run.
    pub fn run(self, run: RunKind) -> Self {
        Self { run, ..self }
    }

    /// Adds options of the LoadGen node.
    pub fn args(mut self, args: &[&'static str]) -> Self {
        self.args.extend(args);
        self
    }

    /// Sets the options of the LoadGen node for its connections to the struck node.
    pub fn papers(self, papers: &[&'static str]) -> Self {
        Self { papers: papers.into(), ..self }
    }

    /// Makes the struck node a real node with these options.
    pub fn node(mut self, args: &[&'static str]) -> Self {
        self.node = StruckNode::Real;
        self.node_args = args.into();
        self
    }

    /// Adds options of the struck node.
    pub fn more_node_args(mut self, args: &[&'static str]) -> Self {
        self.node_args.extend(args);
        self
    }

    /// Adds a good node beside the struck node.
    pub fn with_company(self) -> Self {
        Self { has_good_node: true, ..self }
    }

    /// Adds options of the good node, which apply if outputs are tokens.
    pub fn company_args(mut self, args: &[&'static str]) -> Self {
        self.good_node_args.extend(args);
        self
    }

    /// Removes the good node.
    pub fn alone(self) -> Self {
        Self { has_good_node: false, ..self }
    }

    /// Puts a relay that can inject faults in front of the struck node.
    pub fn wired(self) -> Self {
        Self { is_wired: true, ..self }
    }

    /// Sets the expected end.
    pub fn expect(self, expected: ExpectedEnd) -> Self {
        Self { expected, ..self }
    }

    /// Sets the expected end over QUIC.
    pub fn expect_over_quic(self, expected: ExpectedEnd) -> Self {
        if transport() == "quic" { self.expect(expected) } else { self }
    }

    /// Omits the second run over the struck node, for a fault that the node does not survive.
    pub fn without_reuse(self) -> Self {
        Self { is_reusable: false, ..self }
    }
}
