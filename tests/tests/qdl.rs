//! The QDL against fake nodes, without LoadGen: how it opens connections, and its calls to all
//! nodes.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use e2e::{Behaviour, FakeNode, ports::CLOSED, process::transport};
use netdiv_contract::{encoding, encoding::Encoding};
use netdiv_qdl::{
    AnswerTokens, ConnectError, Expectation, Failure, LoadGen, LoadedSamples, Qdl, SampleSource,
    Settings, Transport,
};

/// Receives responses, and drops them.
#[derive(Clone)]
struct DiscardingLoadGen;

impl LoadGen for DiscardingLoadGen {
    type Ticket = ();

    fn first_token(&self, (): &mut (), _: &Bytes) {}

    fn complete(&self, tickets: &mut Vec<()>, _: &[Bytes]) {
        tickets.clear();
    }
}

/// A single sample of a few bytes.
struct OneSample;

impl SampleSource for OneSample {
    fn loaded(&self) -> LoadedSamples {
        let sample = encoding::encode(Encoding::None, Bytes::from_static(b"a sample of a test"));
        [sample.ok()].into()
    }
}

fn settings(nodes: &[&str]) -> Settings {
    let mut settings = Settings::new(nodes.iter().map(|node| (*node).to_owned()).collect());
    settings.network.options.transport =
        if transport() == "quic" { Transport::Quic } else { Transport::Grpc };
    settings.network.options.connect_timeout = Duration::from_secs(2);
    settings.network.control_timeout = Duration::from_secs(2);
    settings
}

fn connect(settings: Settings) -> Result<Qdl<DiscardingLoadGen>, ConnectError> {
    Qdl::connect(settings, &Expectation::default(), DiscardingLoadGen, Arc::new(OneSample))
}

/// Starts a good node with one change.
fn node(name: &str, change: impl FnOnce(&mut Behaviour)) -> FakeNode {
    let mut behaviour = Behaviour::good(name);
    change(&mut behaviour);
    FakeNode::start(behaviour)
}

/// Change to a good node or to valid settings, and a part of the error that must follow.
type Case<T> = (fn(&mut T), &'static str);

#[test]
fn nodes_that_cannot_be_used_together_are_refused_before_a_sample_is_sent() {
    let a = node("a", |_| ());
    let cases: [Case<Behaviour>; 4] = [
        (|node| node.description.node_name = "a".into(), "a"),
        (|node| node.description.model_sha256 = "ff".into(), "model"),
        (|node| node.description.protocol_version += 1, "version"),
        (|node| node.honest_nonce = false, "nonce"),
    ];
    for (change, words) in cases {
        let b = node("b", change);
        let refused = connect(settings(&[&a.address, &b.address])).map(drop).unwrap_err();
        assert!(refused.to_string().contains(words), "{words}: {refused}");
        assert!(b.seen(|seen| seen.requests.is_empty()));
    }
    let refused = connect(settings(&[&a.address, CLOSED])).map(drop).unwrap_err();
    assert!(refused.is_loss() && refused.to_string().contains(CLOSED), "{refused}");
}

#[test]
fn a_setting_that_a_node_does_not_know_is_refused_with_its_name() {
    let a = node("a", |_| ());
    let cases: [Case<Settings>; 3] = [
        (|settings| settings.checksums = true, "node a does not support checksums"),
        (|settings| settings.tokens = AnswerTokens::First, "not made of tokens"),
        (|settings| settings.connections_per_node = 1 << 16, "streams are too many"),
    ];
    for (change, words) in cases {
        let mut settings = settings(&[&a.address]);
        change(&mut settings);
        let refused = connect(settings).map(drop).unwrap_err();
        assert!(refused.to_string().contains(words), "{words}: {refused}");
    }
}

#[test]
fn a_further_connection_has_to_reach_the_node_that_the_first_one_reached() {
    // The second connection calls Describe after the seven calls of the first.
    let elsewhere = node("a", |node| {
        node.description_change = Some((7, |description| description.node_name = "b".into()));
    });
    let mut twice = settings(&[&elsewhere.address]);
    twice.connections_per_node = 2;
    let refused = connect(twice).map(drop).unwrap_err();
    assert!(matches!(refused, ConnectError::SeveralNodes { .. }), "{refused}");
}

#[test]
fn the_name_of_the_sut_is_asked_of_every_node_each_time() {
    let (a, b) = (node("a", |_| ()), node("b", |_| ()));
    let qdl = connect(settings(&[&a.address, &b.address])).unwrap();
    let before = a.seen(|seen| seen.describes);
    for asked in 1..=2 {
        assert_eq!(qdl.name().unwrap(), "netdiv Network SUT [a, b]");
        assert_eq!(a.seen(|seen| seen.describes), before + asked);
    }
    assert_eq!(qdl.descriptions().unwrap().len(), 2);
}

#[test]
fn a_node_that_is_another_one_later_ends_the_run() {
    let renamed = node("a", |node| {
        node.description_change = Some((7, |description| description.node_name = "b".into()));
    });
    let replaced = node("a", |node| {
        node.description_change = Some((7, |description| description.model_name = "other".into()));
    });
    let name = |node: &FakeNode| connect(settings(&[&node.address])).unwrap().name().unwrap_err();
    let (renamed, replaced) = (name(&renamed), name(&replaced));
    assert!(matches!(renamed, Failure::Renamed { ref now, .. } if now == "b"), "{renamed}");
    assert!(matches!(replaced, Failure::Replaced { .. }), "{replaced}");
}

#[test]
fn a_series_ends_when_every_node_has_received_what_was_sent() {
    let good = node("a", |_| ());
    let qdl = connect(settings(&[&good.address])).unwrap();
    qdl.issue(std::iter::repeat_n(((), 0), 3)).unwrap();
    qdl.flush().unwrap();
    assert_eq!(good.seen(|seen| (seen.requests.len(), seen.flushes.len())), (3, 1));
    let failure = |change: fn(&mut Behaviour)| {
        let bad = node("a", change);
        let qdl = connect(settings(&[&bad.address])).unwrap();
        qdl.issue(std::iter::repeat_n(((), 0), 3)).unwrap();
        qdl.flush().unwrap_err()
    };
    let miscounted = failure(|node| node.uncounted_samples = 1);
    assert!(matches!(miscounted, Failure::Miscounted { sent: 3, received: 2, .. }), "{miscounted}");
    let silent = failure(|node| node.acknowledges_flush = false);
    assert!(matches!(silent, Failure::NoFlush { .. }), "{silent}");
}
