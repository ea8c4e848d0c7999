//! A fault as data: the run that it strikes, what is done, and how the run has to end.

use std::time::Duration;

use e2e::{Behaviour, fake_engine::Mishap, process::transport};

use super::stage::Stage;

/// A fault.
pub struct Fault {
    /// What happens, in words; the table's first column.
    pub name: String,
    /// How the run has to end.
    pub expected: Expected,
    /// How long the end may take from then on.
    pub limit: Duration,
    /// What is done.
    pub inject: fn(&mut Stage),
    /// When it is done.
    pub when: When,
    /// LoadGen's scenario.
    pub scenario: &'static str,
    /// What the run is.
    pub run: Run,
    /// What samples and answers are made of.
    pub made_of: MadeOf,
    /// Options of the LoadGen node.
    pub args: Vec<&'static str>,
    /// What else the LoadGen node needs to talk to the node at all, also in the next run.
    pub papers: Vec<&'static str>,
    /// The node that is struck.
    pub node: Node,
    /// Options of the struck node, beside a name.
    pub node_args: Vec<&'static str>,
    /// Whether a good node takes part.
    pub company: bool,
    /// Options of a good node whose answers are tokens.
    pub company_args: Vec<&'static str>,
    /// Whether a wire that can be damaged is before the struck node.
    pub wired: bool,
    /// Whether the struck node serves the next run.
    pub survives: bool,
}

/// How a run has to end.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// Exit code 0, and nothing to say.
    Unaffected,
    /// The run came to its end, and says this.
    Finding(&'static str),
    /// Exit code 3 for this reason; LoadGen's log is marked.
    Failed(&'static str),
    /// Exit code 2 before the run began, with these words.
    Refused(&'static str),
    /// The LoadGen node is gone, and left nothing that could be taken for a result.
    NoResult,
}

/// What is said of the struck node when nothing is heard of it.
pub fn unheard() -> &'static str {
    match transport() {
        "quic" => "lost node struck: nothing was heard of it for too long.",
        _ => "lost node struck: it did not answer a ping within --keepalive-timeout.",
    }
}

/// When a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the LoadGen node starts.
    Before,
    /// While LoadGen prepares thirty million queries, without a call to anybody.
    Preparing,
    /// While samples are under way.
    Running,
}

/// What a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// An accuracy run of so many samples.
    Accuracy(usize),
    /// A performance run of so many seconds at so many queries per second.
    Performance(u64, u64),
}

/// What samples and answers are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadeOf {
    /// Bytes: an answer is the beginning of its sample.
    Bytes,
    /// Tokens, of which LoadGen is told as they come.
    Tokens,
}

/// More samples than are answered before a fault is found: such a run can only end early.
const MANY: usize = 100_000;

/// Two seconds of work for the struck node.
const SOME: usize = 4000;

/// What stands where the struck node should be.
pub enum Node {
    /// A node that takes 2 ms for each batch of four.
    Slow,
    /// A real node with other options.
    Real,
    /// A node that misbehaves.
    Fake(fn() -> Behaviour),
    /// A real node in front of a serving engine that misbehaves.
    Serving(Mishap),
    /// Something else at this address.
    Elsewhere(fn() -> String),
}

impl Fault {
    /// A fault that must fail the run for this reason: in a long run over two slow nodes, in Offline.
    pub fn fails(name: &str, reason: &'static str, inject: fn(&mut Stage)) -> Self {
        Self {
            name: name.into(),
            expected: Expected::Failed(reason),
            // Up to a second until the next sign of life, three of silence, three until LoadGen is ended from outside;
            // and as much again for a busy machine.
            limit: Duration::from_secs(15),
            inject,
            when: When::Running,
            scenario: "offline",
            run: Run::Accuracy(MANY),
            made_of: MadeOf::Bytes,
            args: vec![],
            papers: vec![],
            node: Node::Slow,
            node_args: vec![],
            company: true,
            company_args: vec![],
            wired: false,
            survives: true,
        }
    }

    /// A fault that must not touch a run of two seconds over one slow node.
    pub fn harmless(name: &str, inject: fn(&mut Stage)) -> Self {
        Self {
            expected: Expected::Unaffected,
            limit: Duration::from_secs(60),
            run: Run::Accuracy(SOME),
            company: false,
            ..Self::fails(name, "", inject)
        }
    }

    /// A node whose answers must fail a run for this reason.
    pub fn answers(name: &str, reason: &'static str, node: fn() -> Behaviour) -> Self {
        Self {
            node: Node::Fake(node),
            when: When::Before,
            company: false,
            run: Run::Accuracy(64),
            survives: false,
            ..Self::fails(name, reason, |_| {})
        }
    }

    /// Something at the node's place with which no run may begin.
    pub fn refused(name: &str, words: &'static str, node: Node) -> Self {
        Self {
            expected: Expected::Refused(words),
            when: When::Before,
            node,
            company: false,
            run: Run::Accuracy(64),
            survives: false,
            ..Self::fails(name, "", |_| {})
        }
    }

    /// A fault that must fail a run of 200 samples in Server, whose answers are tokens at the pace of these options. The good
    /// node is quick.
    pub fn of_tokens(
        name: &str,
        reason: &'static str,
        pace: &[&'static str],
        inject: fn(&mut Stage),
    ) -> Self {
        let engine = ["--engine", "tokens", "--tokens-output", "40"];
        Self {
            made_of: MadeOf::Tokens,
            run: Run::Accuracy(200),
            company_args: engine.into(),
            survives: false,
            ..Self::fails(name, reason, inject)
        }
        .scenario("server")
        .node(&[&engine[..], pace].concat())
    }

    /// In another scenario.
    pub fn scenario(mut self, scenario: &'static str) -> Self {
        self.scenario = scenario;
        self
    }

    /// At another time. LoadGen prepares as many queries only for Server.
    pub fn when(mut self, when: When) -> Self {
        self.when = when;
        if when == When::Preparing {
            self.scenario = "server";
            self.run = Run::Performance(600, 50_000);
        }
        self
    }

    /// Another run.
    pub fn run(self, run: Run) -> Self {
        Self { run, ..self }
    }

    /// More options of the LoadGen node.
    pub fn args(mut self, args: &[&'static str]) -> Self {
        self.args.extend(args);
        self
    }

    /// What the LoadGen node needs to talk to the node.
    pub fn papers(self, papers: &[&'static str]) -> Self {
        Self { papers: papers.into(), ..self }
    }

    /// A struck node with options of its own.
    pub fn node(mut self, args: &[&'static str]) -> Self {
        self.node = Node::Real;
        self.node_args = args.into();
        self
    }

    /// More options of the struck node.
    pub fn more_node_args(mut self, args: &[&'static str]) -> Self {
        self.node_args.extend(args);
        self
    }

    /// With a good node beside the struck one.
    pub fn with_company(self) -> Self {
        Self { company: true, ..self }
    }

    /// The good node, whose answers are tokens, has more options.
    pub fn company_args(mut self, args: &[&'static str]) -> Self {
        self.company_args.extend(args);
        self
    }

    /// Without one.
    pub fn alone(self) -> Self {
        Self { company: false, ..self }
    }

    /// With a wire to the struck node that can be damaged.
    pub fn wired(self) -> Self {
        Self { wired: true, ..self }
    }

    /// Must end otherwise.
    pub fn expect(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// Over QUIC it must end otherwise.
    pub fn expect_over_quic(self, expected: Expected) -> Self {
        if transport() == "quic" { self.expect(expected) } else { self }
    }

    /// The struck node is gone for good.
    pub fn for_good(self) -> Self {
        Self { survives: false, ..self }
    }
}
