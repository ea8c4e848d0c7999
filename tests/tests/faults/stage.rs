//! Processes of a run into which a fault is injected, and the checks after the run.

use std::{
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Behaviour, Direction, FakeEngine, FakeNode, Flood, Folder, LoadGen, Outcome, Relay,
    RunningLoadGen, SutNode,
    fake_engine::MODEL,
    ports::free_address,
    process::{send_signal, transport},
    relay::Counts,
};

use super::{
    fault::{ExpectedEnd, Fault, FaultTime, PayloadKind, RunKind, StruckNode},
    responses,
};

/// Processes of a run into which a fault is injected.
pub struct Stage {
    /// The struck node, if it is a real `sut-node`.
    pub node: Option<SutNode>,
    /// The good node, if the run has one.
    pub company: Option<SutNode>,
    /// The relay in front of the struck node, if the fault needs one.
    pub wire: Option<Relay>,
    /// Process id of the LoadGen node.
    loadgen: u32,
    fake: Option<FakeNode>,
    /// Second client of the struck node, which the method `flood` starts.
    flood: Option<Flood>,
}

/// Observed end of a run.
#[derive(Debug, Clone)]
pub struct ObservedEnd {
    /// Verdict of the run, which was compared with the expected one.
    pub verdict: ExpectedEnd,
    /// Text that the run reported.
    pub words: String,
    /// Time from the fault to the end.
    pub took: Duration,
}

const ECHO: [&str; 2] = ["--engine", "echo"];

const SLOW: [&str; 4] = ["--max-batch", "4", "--echo-batch", "2ms"];

impl Fault {
    /// Makes the run, injects the fault, and checks the end of the run, the number of its samples
    /// and their responses. Then checks that nodes which must survive serve a second run.
    pub fn strike(&self) -> ObservedEnd {
        let mut stage =
            Stage { node: None, company: None, wire: None, loadgen: 0, fake: None, flood: None };
        let address = match &self.node {
            StruckNode::Slow => {
                stage.start_real_node(&[&ECHO[..], &SLOW, &self.node_args].concat())
            }
            StruckNode::Real if self.payload_kind == PayloadKind::Bytes => {
                stage.start_real_node(&[&ECHO[..], &self.node_args].concat())
            }
            StruckNode::Real => stage.start_real_node(&self.node_args),
            StruckNode::Serving(mishap) => {
                let folder = Folder::create();
                let model = folder.write("tiny.toml", MODEL);
                let engine = FakeEngine::start(Some(mishap.clone()));
                let args = ["--engine", "openai", "--url", &engine.url, "--model", &model];
                stage.start_real_node(&[&args[..], &self.node_args].concat())
            }
            StruckNode::Fake(behaviour) => {
                let fake = stage.fake.insert(FakeNode::start(Behaviour::clone(behaviour)));
                fake.address.clone()
            }
            StruckNode::Elsewhere(address) => address(),
        };
        let address = if self.is_wired {
            stage.wire.insert(Relay::to(&address)).address.clone()
        } else {
            address
        };
        let mut addresses = vec![address];
        if self.has_good_node {
            let company = match self.payload_kind {
                PayloadKind::Bytes => SutNode::echo("company", &SLOW),
                PayloadKind::Tokens => SutNode::start("company", &self.good_node_args),
            };
            let company = stage.company.insert(company);
            addresses.push(company.address.clone());
        }
        if self.when == FaultTime::Before {
            (self.inject)(&mut stage);
        }
        let running = self.start(&addresses);
        stage.loadgen = running.id();
        let mut struck = Instant::now();
        if self.when != FaultTime::Before {
            self.wait(&running);
            struck = Instant::now();
            (self.inject)(&mut stage);
        }
        let outcome = running.wait();
        let took = struck.elapsed();
        stage.flood = None;
        self.judge(&stage, &outcome, took)
    }

    fn dataset(&self) -> String {
        let samples = if let RunKind::Accuracy(samples) = self.run { samples } else { 64 };
        match self.payload_kind {
            PayloadKind::Bytes => format!("synthetic:{samples}x100"),
            PayloadKind::Tokens => format!("synthetic-ids:{samples}x4-64"),
        }
    }

    /// Creates a run with the benchmark for the fault's kind of payloads: `fabric` for bytes,
    /// `chat` for tokens.
    fn loadgen(&self, addresses: &[&str], scenario: &str, dataset: &str) -> LoadGen {
        let run = LoadGen::new(addresses, scenario);
        match self.payload_kind {
            PayloadKind::Bytes => run.data("fabric", dataset),
            PayloadKind::Tokens => run.data("chat", dataset).set("use_token_latencies=true"),
        }
    }

    fn start(&self, addresses: &[String]) -> RunningLoadGen {
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        let run = self
            .loadgen(&addresses, self.scenario, &self.dataset())
            .args(&["--quiet"])
            .args(&self.args)
            .args(&self.papers);
        match self.run {
            RunKind::Accuracy(_) => run.accuracy().set("server_target_qps=1000").start(),
            RunKind::Performance(seconds, qps) => run.short(seconds * 1000, qps).start(),
        }
    }

    /// Waits for the time of the fault.
    fn wait(&self, running: &RunningLoadGen) {
        if self.when == FaultTime::Preparing {
            e2e::wait_until("the run has connected", || {
                std::fs::read_to_string(running.log())
                    .is_ok_and(|text| text.contains("loaded_qsl_set"))
            });
        } else {
            running.wait_for_test();
            // By then some samples have responses, but no check below depends on it. With tokens,
            // some first tokens have arrived.
            let pause_ms = if self.payload_kind == PayloadKind::Tokens { 1000 } else { 300 };
            thread::sleep(Duration::from_millis(pause_ms));
        }
    }

    fn judge(&self, stage: &Stage, outcome: &Outcome, took: Duration) -> ObservedEnd {
        let words = self.check_verdict(outcome);
        assert!(took <= self.limit, "the end took {took:?}");
        if !matches!(self.expected, ExpectedEnd::Refused(_) | ExpectedEnd::NoResult) {
            self.check_counts(outcome);
        }
        let mut next = None;
        if let Some(node) = stage.node.as_ref().filter(|_| self.is_reusable) {
            // The node may be frozen.
            node.signal("-CONT");
            next = Some(self.next_run(node, &self.papers));
        }
        if let Some(node) = &stage.company {
            next = Some(self.next_run(node, &[]));
        }
        if matches!(self.run, RunKind::Accuracy(_)) && outcome.path("result.json").is_file() {
            match self.payload_kind {
                PayloadKind::Bytes => responses::check_bytes(outcome, &self.dataset()),
                PayloadKind::Tokens => responses::check_tokens(outcome, next.as_ref()),
            }
        }
        let words = if words.is_empty() { stage.describe_wire() } else { words };
        ObservedEnd { verdict: self.expected.clone(), words, took }
    }

    /// Makes a second run over one node, and asserts that it succeeds. If outputs are tokens, it
    /// has the samples of the run with the fault.
    fn next_run(&self, node: &SutNode, args: &[&str]) -> Outcome {
        let dataset = match self.payload_kind {
            PayloadKind::Bytes => "synthetic:64x100".into(),
            PayloadKind::Tokens => self.dataset(),
        };
        let run = self.loadgen(&[&node.address], "offline", &dataset);
        run.accuracy().args(args).run().expect(0)
    }

    /// Asserts that the run ended as expected. Returns the text that the run reported, or an empty
    /// text if the fault did not affect it.
    fn check_verdict(&self, outcome: &Outcome) -> String {
        match self.expected {
            ExpectedEnd::Unaffected => {
                assert_eq!(outcome.code, Some(0), "{outcome:#?}");
                assert_eq!(outcome.reasons(), Vec::<String>::new());
                String::new()
            }
            ExpectedEnd::Finding(words) => {
                assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:#?}");
                let reasons = outcome.reasons();
                let found = reasons.iter().find(|reason| reason.contains(words));
                let found = found.unwrap_or_else(|| panic!("no `{words}` in {reasons:?}"));
                assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
                found.clone()
            }
            ExpectedEnd::Failed(words) => {
                outcome.assert_failed(words);
                assert!(outcome.result()["metric"].is_null(), "there is a metric");
                outcome.reasons().remove(0)
            }
            ExpectedEnd::Refused(words) => {
                outcome.assert_refused(words);
                assert!(outcome.read("mlperf_log_summary.txt").is_empty(), "LoadGen ran");
                let line = outcome.stderr.lines().rfind(|line| line.contains(words));
                let line = line.expect("it contains the text");
                line.split_once("ERROR loadgen_node: ").map_or(line, |(_, text)| text).trim().into()
            }
            ExpectedEnd::NoResult => {
                assert!(matches!(outcome.code, None | Some(3)), "{outcome:#?}");
                assert!(!outcome.path("result.json").exists(), "there is a result");
                let log = outcome.read("mlperf_log_detail.txt");
                assert!(!log.contains("result_validity"), "there is a result\n{log}");
                "no result.json, no result in LoadGen's log".into()
            }
        }
    }

    /// Asserts that every issued sample is completed or declared lost, and that the nodes' samples
    /// add up to the completed samples.
    fn check_counts(&self, outcome: &Outcome) {
        let result = outcome.result();
        let samples = |key: &str| result["samples"][key].as_u64().expect("a number");
        let (issued, completed, lost) = (samples("issued"), samples("completed"), samples("lost"));
        assert_eq!(issued, completed + lost, "{result:#}");
        let nodes = result["nodes"].as_array().expect("a list");
        let answered = nodes.iter().map(|node| node["answered"].as_u64().expect("a number"));
        assert_eq!(answered.sum::<u64>(), completed, "{result:#}");
        if !matches!(self.expected, ExpectedEnd::Failed(_)) {
            assert_eq!(lost, 0, "{result:#}");
        }
    }
}

impl Stage {
    fn start_real_node(&mut self, args: &[&str]) -> String {
        // The node's successor has the same address, so no other process may use its port in
        // between.
        let args = [&["--name", "struck"], args].concat();
        let node = SutNode::try_start_at(&free_address(), &args).expect("a node");
        self.node.insert(node).address.clone()
    }

    /// Sends a signal to the LoadGen node.
    pub fn signal_loadgen(&self, signal: &str) {
        send_signal(self.loadgen, signal);
    }

    /// Sends a signal to the struck node.
    pub fn signal(&self, signal: &str) {
        self.node.as_ref().expect("a real node").signal(signal);
    }

    /// Returns the relay in front of the struck node.
    pub fn wire(&self) -> &Relay {
        self.wire.as_ref().expect("a wire")
    }

    /// Replaces the struck node by another one at the same port.
    pub fn replace(&mut self) {
        let address = self.node.take().expect("a real node").address.clone();
        let args = [&["--name", "struck", "--engine", "echo"], &SLOW[..]].concat();
        let mut node = SutNode::try_start_at(&address, &args);
        // The port may be in use for a moment longer.
        let deadline = Instant::now() + Duration::from_secs(10);
        while node.is_err() && Instant::now() < deadline {
            node = SutNode::try_start_at(&address, &args);
        }
        self.node = Some(node.expect("a node at the same port"));
    }

    /// Starts a second client, which sends samples to the struck node as fast as it can and reads
    /// no responses. The client runs until the run has ended.
    pub fn flood(&mut self) {
        let node = self.node.as_ref().expect("a real node");
        self.flood = Some(Flood::start(&node.address, transport(), 1, 10_000));
    }

    /// Returns the relay's counts of pieces and faults as text, which is empty without a relay or
    /// without faults.
    fn describe_wire(&self) -> String {
        let Some(wire) = &self.wire else { return String::new() };
        let ways = [wire.counts(Direction::ToNode), wire.counts(Direction::ToClient)];
        let sum = |count: fn(&Counts) -> u64| ways.iter().map(count).sum::<u64>();
        let counts = [
            (sum(|counts| counts.lost), "lost"),
            (sum(|counts| counts.dropped), "dropped"),
            (sum(|counts| counts.flipped), "flipped"),
            (sum(|counts| counts.duplicated), "duplicated"),
            (sum(|counts| counts.reordered), "out of order"),
        ];
        let happened = counts.iter().filter(|(count, _)| *count > 0);
        let happened: Vec<_> = happened.map(|(count, what)| format!("{count} {what}")).collect();
        let pieces = sum(|counts| counts.pieces);
        assert!(pieces > 0, "nothing passed the relay");
        if happened.is_empty() {
            return String::new();
        }
        let piece = if transport() == "quic" { "datagrams" } else { "reads of TCP" };
        format!("of {pieces} {piece} {}", happened.join(", "))
    }
}
