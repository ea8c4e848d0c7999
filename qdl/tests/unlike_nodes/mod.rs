//! Simulation of clusters whose nodes differ, in virtual time: the dispatch and its estimates are
//! the real ones; a node is a queue in front of a number of places.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use crate::{
    Policy,
    dispatch::Dispatch,
    speed::{Speed, SpeedEstimate},
};

/// Times in microseconds.
const SECOND: u64 = 1_000_000;

/// Node that handles `places` samples at a time, each in `service` on average; from `slower.0` on,
/// `slower.1` times as slowly.
#[derive(Clone, Copy)]
struct SimulatedNode {
    places: usize,
    service: u64,
    slower: (u64, u64),
}

const fn node(places: usize, service: u64) -> SimulatedNode {
    SimulatedNode { places, service, slower: (u64::MAX, 1) }
}

impl SimulatedNode {
    fn rate(&self) -> f64 {
        self.places as f64 / self.service as f64
    }
}

/// Sample at a node: the times at which it arrived and began, and the number of the lane's samples
/// when it arrived.
type ArrivedSample = (u64, u64, u32);

struct SimulatedLane {
    node: SimulatedNode,
    speed: SpeedEstimate,
    waiting: VecDeque<(u64, u32)>,
    busy: usize,
    answered: usize,
}

struct UnlikeCluster {
    dispatch: Dispatch<()>,
    lanes: Vec<SimulatedLane>,
    /// Ends of service, by time.
    ends: BinaryHeap<Reverse<(u64, usize, ArrivedSample)>>,
    random: StdRng,
    /// Number of the nodes, from the first on, that report no waits.
    silent: usize,
    /// Time that each sample waited at its node, by the time of its arrival.
    waits: Vec<(u64, u64)>,
}

impl UnlikeCluster {
    /// Creates nodes that announce a batch of this size, or of as many samples as they have places.
    fn new(policy: Policy, nodes: &[SimulatedNode], batch: Option<usize>, seed: u64) -> Self {
        let dispatch = Dispatch::new(policy, nodes.len(), 1 << 20);
        let lane = |(number, node): (usize, &SimulatedNode)| {
            let speed = SpeedEstimate::new(batch.unwrap_or(node.places));
            dispatch.learn(number, &speed);
            let (node, waiting) = (*node, VecDeque::new());
            SimulatedLane { node, speed, waiting, busy: 0, answered: 0 }
        };
        let lanes = nodes.iter().enumerate().map(lane).collect();
        let (ends, random) = (BinaryHeap::new(), StdRng::seed_from_u64(seed));
        Self { dispatch, lanes, ends, random, silent: 0, waits: Vec::new() }
    }

    fn held(&self, lane: usize) -> usize {
        self.lanes[lane].waiting.len() + self.lanes[lane].busy
    }

    fn arrive(&mut self, lane: usize, now: u64) {
        let in_flight = self.held(lane) as u32 + 1;
        self.lanes[lane].waiting.push_back((now, in_flight));
        self.begin(lane, now);
    }

    fn begin(&mut self, lane: usize, now: u64) {
        let SimulatedLane { node, waiting, busy, .. } = &mut self.lanes[lane];
        while *busy < node.places
            && let Some((arrived, in_flight)) = waiting.pop_front()
        {
            *busy += 1;
            let (from, factor) = node.slower;
            let service = node.service * if now >= from { factor } else { 1 };
            let service = self.random.random_range(service / 2..service * 3 / 2);
            self.waits.push((arrived, now - arrived));
            self.ends.push(Reverse((now + service, lane, (arrived, now, in_flight))));
        }
    }

    /// Answers the sample whose service ends next, and returns the time and the lane.
    fn answer(&mut self) -> Option<(u64, usize)> {
        let Reverse((now, number, (arrived, began, in_flight))) = self.ends.pop()?;
        let lane = &mut self.lanes[number];
        lane.busy -= 1;
        lane.answered += 1;
        // A node whose samples wait at another server reports no wait.
        let began = if number < self.silent { arrived } else { began };
        let [wait_ns, rest_ns] = [began - arrived, now - began].map(|us| us * 1000);
        lane.speed.observe(in_flight, wait_ns, rest_ns);
        self.dispatch.learn(number, &lane.speed);
        self.dispatch.answered(number, 1);
        self.begin(number, now);
        Some((now, number))
    }

    /// Runs Server at a share of the rate that the nodes reach. Returns the 99th percentile of the
    /// waits of the samples that arrive within `measured`.
    fn serve(mut self, load: f64, until: u64, measured: std::ops::Range<u64>) -> (u64, Self) {
        let rate: f64 = load * self.lanes.iter().map(|lane| lane.node.rate()).sum::<f64>();
        let mut arrival = 0;
        while arrival < until {
            let gap = -(1.0 - self.random.random::<f64>()).ln() / rate;
            arrival += gap as u64;
            while self.ends.peek().is_some_and(|Reverse((end, ..))| *end <= arrival) {
                self.answer();
            }
            let lane = self.dispatch.assign_lane();
            self.arrive(lane, arrival);
        }
        while self.answer().is_some() {}
        let within = self.waits.iter().filter(|(arrived, _)| measured.contains(arrived));
        let mut waits: Vec<_> = within.map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        (waits[waits.len() * 99 / 100], self)
    }
}

fn wait(policy: Policy, nodes: &[SimulatedNode], measured: std::ops::Range<u64>) -> u64 {
    median_wait(policy, nodes, measured, 0)
}

fn median_wait(
    policy: Policy,
    nodes: &[SimulatedNode],
    measured: std::ops::Range<u64>,
    silent: usize,
) -> u64 {
    let mut waits: Vec<_> = (0..5)
        .map(|seed| {
            let mut cluster = UnlikeCluster::new(policy, nodes, None, seed);
            cluster.silent = silent;
            cluster.serve(0.88, measured.end, measured.clone()).0
        })
        .collect();
    waits.sort_unstable();
    waits[2]
}

const FAST: SimulatedNode = node(20, SECOND / 2);
const SLOW: SimulatedNode = node(20, 5 * SECOND / 4);
/// Node that is as fast as both.
const BOTH: SimulatedNode = node(28, SECOND / 2);

#[test]
fn two_unlike_nodes_serve_nearly_like_one_that_is_as_fast_as_both() {
    let measured = 0..60 * SECOND;
    let least = |nodes: &[_]| wait(Policy::LeastOutstanding, nodes, measured.clone());
    let [both, unlike] = [least(&[BOTH]), least(&[FAST, SLOW])];
    assert!(unlike <= both * 6 / 5, "{unlike} µs, {both} µs");
    let in_turn = wait(Policy::RoundRobin, &[FAST, SLOW], measured.clone());
    assert!(in_turn > 5 * both, "{in_turn} µs");
}

#[test]
fn waits_that_nodes_do_not_report_are_found() {
    let one = node(1, SECOND / 100);
    for (nodes, silent) in
        [([FAST, SLOW], 2), ([FAST, FAST], 2), ([FAST, FAST], 1), ([one, one], 2), ([one, one], 1)]
    {
        let wait = |silent| median_wait(Policy::LeastOutstanding, &nodes, 0..60 * SECOND, silent);
        let [reported, found] = [wait(0), wait(silent)];
        assert!(found < 2 * reported, "{found} µs, {reported} µs if reported");
    }
}

#[test]
fn a_node_that_slows_down_loses_samples_to_the_others() {
    let slows = SimulatedNode { slower: (60 * SECOND, 3), ..FAST };
    let nodes = [slows, FAST, FAST, FAST];
    // Three and a third of four.
    let (wait, cluster) = UnlikeCluster::new(Policy::LeastOutstanding, &nodes, None, 1).serve(
        0.7,
        180 * SECOND,
        80 * SECOND..180 * SECOND,
    );
    assert!(wait < SECOND / 2, "{wait} µs");
    let answered: Vec<_> = cluster.lanes.iter().map(|lane| lane.answered).collect();
    assert!(answered[0] * 3 / 2 < answered[1], "{answered:?}");
}

#[test]
fn sixty_four_nodes_of_two_speeds_leave_no_sample_waiting() {
    let nodes: Vec<_> = (0..64).map(|n| if n % 4 == 0 { SLOW } else { FAST }).collect();
    let measured = 5 * SECOND..20 * SECOND;
    assert!(wait(Policy::LeastOutstanding, &nodes, measured.clone()) < SECOND / 20);
    assert!(wait(Policy::RoundRobin, &nodes, measured) > SECOND);
}

/// Runs an Offline query whose lanes hold up to `window` samples, and returns the share of the
/// nodes' summed rates that it reaches.
fn offline(nodes: &[SimulatedNode], seconds: u64, window: usize) -> f64 {
    let sum: f64 = nodes.iter().map(SimulatedNode::rate).sum();
    let samples = ((seconds * SECOND) as f64 * sum) as usize;
    let mut cluster = UnlikeCluster::new(Policy::Pull, nodes, None, 7);
    let (mut left, mut unanswered, mut now) = (samples, samples, 0);
    let mut lanes: Vec<_> = (0..nodes.len()).collect();
    loop {
        for lane in lanes.drain(..) {
            let batch = nodes[lane].places;
            let held = cluster.held(lane);
            let most = cluster.dispatch.max_in_flight(lane, batch, held, unanswered);
            let most = most.min(window * batch);
            while left > 0 && cluster.held(lane) < most {
                left -= 1;
                cluster.arrive(lane, now);
            }
        }
        let Some((end, lane)) = cluster.answer() else { break };
        (now, unanswered) = (end, unanswered - 1);
        lanes.push(lane);
    }
    assert_eq!((left, unanswered), (0, 0));
    samples as f64 / now as f64 / sum
}

#[test]
fn offline_reaches_the_sum_of_unlike_nodes() {
    for (nodes, seconds) in [
        (vec![FAST, SLOW], 60),
        (vec![FAST, node(20, 5 * SECOND)], 200),
        ((0..64).map(|n| if n % 4 == 0 { SLOW } else { FAST }).collect(), 60),
    ] {
        let reached = offline(&nodes, seconds, 4);
        assert!(reached >= 0.97, "{} nodes: {reached:.3}", nodes.len());
    }
}

#[test]
fn an_estimate_finds_the_places_of_a_node() {
    for batch in [1, 20, 256] {
        let nodes = [FAST, SLOW];
        let cluster = UnlikeCluster::new(Policy::LeastOutstanding, &nodes, Some(batch), 3);
        let (_, cluster) = cluster.serve(0.95, 120 * SECOND, 0..SECOND);
        for lane in &cluster.lanes {
            let wait = |unanswered| Speed::new(&lane.speed).expected_ns(unanswered)[0];
            assert!(wait(13) == 0.0 && wait(25) > 0.0, "{batch}: {:?}", lane.speed);
        }
    }
}

#[test]
fn lone_samples_go_to_the_nodes_in_turn_whatever_their_speeds() {
    for nodes in [[node(1, 100), node(1, 10_000)], [node(1, 100), node(1, 100)], [FAST, SLOW]] {
        let mut cluster = UnlikeCluster::new(Policy::LeastOutstanding, &nodes, None, 5);
        let mut now = 0;
        for _ in 0..1000 {
            let lane = cluster.dispatch.assign_lane();
            cluster.arrive(lane, now);
            (now, _) = cluster.answer().expect("a sample is at a node");
        }
        let answered: Vec<_> = cluster.lanes.iter().map(|lane| lane.answered).collect();
        assert_eq!(answered, [500, 500]);
    }
}
