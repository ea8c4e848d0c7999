//! The Query Dispatch Library's face to the LoadGen node.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use netdiv_proto::{
    SessionHeader, limits,
    tally::Tally,
    v1::{self, FlushRequest},
};
use netdiv_transport::Connection;
use tokio::task::JoinSet;

use crate::{
    ConnectError, Expectation, Failure, LoadGen, NodeInfo, NodeReport, Progress, SampleSource,
    Settings,
    dispatch::Dispatch,
    inbox::{Closed, Pending},
    incoming,
    io_threads::IoThreads,
    lane::{Lane, Run},
    lock, node,
    slots::MAX_SLOTS,
    window::Window,
};

/// What the SUT's name contains (rules, section 6.2.1).
pub const SUT_NAME_PART: &str = "Network SUT";

/// How long nodes may take to say what they have seen, in many parts.
const DIGESTS_TIME: Duration = Duration::from_secs(600);

/// How long connections may take to end after the run.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// The connected Query Dispatch Library. Its calls block; none may come from an asynchronous task.
pub struct Qdl<L: LoadGen> {
    settings: Settings,
    session: SessionHeader,
    nodes: Vec<NodeInfo>,
    /// Samples that each node says it has received, at the last flush.
    acknowledged: Mutex<Vec<u64>>,
    /// All connections, node after node.
    connections: Vec<Connection>,
    lanes: Vec<Arc<Lane<L>>>,
    run: Arc<Run<L>>,
    threads: IoThreads,
}

impl<L: LoadGen> std::fmt::Debug for Qdl<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Qdl").field("nodes", &self.settings.nodes).finish_non_exhaustive()
    }
}

impl<L: LoadGen> Qdl<L> {
    /// Reaches all nodes, agrees with them, and opens the streams.
    pub fn connect(
        settings: Settings,
        expected: &Expectation,
        loadgen: L,
        source: Arc<dyn SampleSource>,
    ) -> Result<Self, ConnectError> {
        if settings.nodes.is_empty() {
            return Err(ConnectError::NoNodes);
        }
        let threads =
            IoThreads::start(&settings).map_err(|error| ConnectError::Local(error.to_string()))?;
        let per_node = settings.connections_per_node.max(1);
        let streams = settings.streams_per_connection.max(1);
        let lane_count = settings.nodes.len() * per_node * streams;
        if lane_count > usize::from(u16::MAX) {
            return Err(ConnectError::Local(format!("{lane_count} streams are too many")));
        }

        let connections = open_connections(&settings, &threads, per_node)?;
        let nodes = describe_nodes(&settings, &threads, &connections, per_node)?;
        node::agree(&nodes, expected)?;
        if settings.digests {
            check_digests(&settings, &threads, &connections, per_node, &nodes)?;
        }

        let dispatch = Dispatch::new(settings.policy, lane_count, settings.inbox_samples);
        let run = Arc::new(Run::new(loadgen, source, dispatch));
        let name = format!("{:016x}", node::nonce());
        let session = SessionHeader { name, digests: settings.digests, checksums: false };
        let acknowledged = Mutex::new(vec![0; nodes.len()]);
        let lanes = Vec::with_capacity(lane_count);
        let mut qdl =
            Self { settings, session, nodes, acknowledged, connections, lanes, run, threads };
        // Neighbours in the dispatch's turns are streams of different connections.
        for _ in 0..streams {
            for number in 0..qdl.connections.len() {
                qdl.open_lane(number, number / per_node);
            }
        }
        Ok(qdl)
    }

    fn open_lane(&mut self, number: usize, node: usize) {
        let info = &self.nodes[node];
        let report = NodeReport::new(&info.description.node_name, &info.address);
        let window = window(&self.settings, info);
        let lane = Lane::new(self.lanes.len(), node, self.run.clone(), window, report);
        let lane = Arc::new(lane);
        self.lanes.push(lane.clone());
        let (run, timeout) = (self.run.clone(), self.settings.network.sample_timeout);
        let runtime = self.threads.runtime(number);
        let (connection, session) = (self.connections[number].clone(), self.session.clone());
        let serving = runtime.spawn(incoming::serve(lane, connection, session, timeout));
        runtime.spawn(async move {
            match serving.await {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => run.fail(failure),
                Err(panic) => run.fail(Failure::Internal(panic.to_string())),
            }
        });
    }

    /// The nodes, in the order of the settings, as they described themselves before the run.
    pub fn nodes(&self) -> &[NodeInfo] {
        &self.nodes
    }

    /// Hands samples to the nodes. Waits while too many are unsent, and for the answers when there is one
    /// query at a time.
    pub fn issue(
        &self,
        samples: impl ExactSizeIterator<Item = (L::Ticket, usize)>,
    ) -> Result<(), Failure> {
        self.run.check()?;
        self.run.add_issued(samples.len() as u64);
        let issued = Instant::now();
        let mut pending = samples.map(|(ticket, index)| Pending { ticket, index, issued });
        self.unless_closed(self.run.dispatch.push(&mut pending))?;
        match self.settings.one_query_at_a_time {
            true => self.run.wait_until_idle(),
            false => Ok(()),
        }
    }

    /// Ends a series: all samples are sent, every node is told and has acknowledged, and every answer is in.
    ///
    /// Waiting for the answers here, and not in LoadGen, lets a failure still end the test.
    pub fn flush(&self) -> Result<(), Failure> {
        self.unless_closed(self.run.dispatch.wait_until_empty())?;
        let sent = |node| {
            let lanes = self.lanes.iter().filter(|lane| lane.node == node);
            lanes.map(|lane| lock(&lane.state).report.sent).sum()
        };
        let session = &self.session.name;
        let counts: Vec<u64> = (0..self.nodes.len()).map(sent).collect();
        let received = self.ask_each_node(
            self.settings.network.control_timeout,
            |node, connection| {
                let request = FlushRequest { session: session.clone(), samples_sent: counts[node] };
                async move { Ok(connection.flush(request).await?.samples_received) }
            },
            |node, status| Failure::NoFlush { node, why: node::words(&status) },
        )?;
        lock(&self.acknowledged).clone_from(&received);
        for (info, (sent, received)) in self.nodes.iter().zip(counts.into_iter().zip(received)) {
            if sent != received {
                let node = info.description.node_name.clone();
                self.run.fail(Failure::Miscounted { node, sent, received });
            }
        }
        self.run.wait_until_idle()
    }

    /// Asks every node for its name, over the network, and puts them together:
    /// `"<cluster> Network SUT [a, b]"` (rules, section 6.2.1).
    pub fn name(&self) -> Result<String, Failure> {
        self.run.check()?;
        let limit = self.settings.network.control_timeout;
        let addresses = &self.settings.nodes;
        let infos = self.ask_each_node(
            limit,
            |node, connection| {
                let address = addresses[node].clone();
                async move {
                    node::describe(&connection, &address, limit)
                        .await
                        .map_err(|error| tonic::Status::unavailable(error.to_string()))
                }
            },
            |node, status| Failure::NoName { node, why: status.message().into() },
        )?;
        let mut names = Vec::with_capacity(infos.len());
        for (before, now) in self.nodes.iter().zip(infos) {
            let (node, now) = (&before.description.node_name, now.description.node_name);
            // They were unique at the start; the same names still are.
            if *node != now {
                let failure = Failure::Renamed { node: node.clone(), now };
                self.run.fail(failure.clone());
                return Err(failure);
            }
            names.push(now);
        }
        let (cluster, names) = (&self.settings.cluster_name, names.join(", "));
        Ok(format!("{cluster} {SUT_NAME_PART} [{names}]"))
    }

    /// What all nodes together have received and sent in this session, payload by payload: samples as they arrived, and
    /// responses before the node encoded them. Asked after the test, for a run with digests.
    pub fn digests(&self) -> Result<(Tally, Tally), Failure> {
        let (session, limit) = (&self.session.name, self.settings.network.control_timeout);
        let ask = |_, connection: Connection| {
            let session = session.clone();
            async move {
                let tally = |kind| node::tally(&connection, &session, kind, limit);
                Ok((tally(v1::Tally::Samples).await?, tally(v1::Tally::Responses).await?))
            }
        };
        let tallies = self.ask_each_node(DIGESTS_TIME, ask, |node, status| Failure::NoDigests {
            node,
            why: node::words(&status),
        })?;
        let mut all = (Tally::default(), Tally::default());
        for (samples, responses) in tallies {
            all.0.join(samples);
            all.1.join(responses);
        }
        Ok(all)
    }

    /// A way to end the run from any thread, which does not keep the connections alive.
    pub fn stopper(&self) -> impl Fn(Failure) + Send + use<L> {
        let run = Arc::downgrade(&self.run);
        move |failure| {
            if let Some(run) = run.upgrade() {
                run.fail(failure);
            }
        }
    }

    /// Why the run failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        self.run.failure()
    }

    /// A glance at the counters.
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        for lane in &self.lanes {
            let state = lock(&lane.state);
            progress.sent += state.report.sent;
            progress.answered += state.report.answered;
            progress.latency_sum_ns += state.report.latency_sum_ns;
        }
        // Last, so that it is not less than the others.
        progress.issued = self.run.issued();
        progress
    }

    /// What was counted, node by node.
    pub fn report(&self) -> Vec<NodeReport> {
        let empty = |info: &NodeInfo| NodeReport::new(&info.description.node_name, &info.address);
        let mut reports: Vec<_> = self.nodes.iter().map(empty).collect();
        for lane in &self.lanes {
            reports[lane.node].merge(&lock(&lane.state).report);
        }
        for (report, acknowledged) in reports.iter_mut().zip(lock(&self.acknowledged).iter()) {
            report.acknowledged = *acknowledged;
        }
        reports
    }

    /// The same, stream by stream.
    pub fn report_by_stream(&self) -> Vec<NodeReport> {
        self.lanes.iter().map(|lane| lock(&lane.state).report.clone()).collect()
    }

    /// The failure behind an inbox that was closed.
    fn unless_closed(&self, outcome: Result<(), Closed>) -> Result<(), Failure> {
        let unknown = || Failure::Internal("an inbox was closed without a reason".into());
        outcome.map_err(|Closed| self.run.failure().cloned().unwrap_or_else(unknown))
    }

    /// Makes one call to every node at the same time and waits for all, for a limited time. One that fails fails the run.
    fn ask_each_node<T, F>(
        &self,
        limit: Duration,
        call: impl Fn(usize, Connection) -> F,
        failure: impl Fn(String, tonic::Status) -> Failure,
    ) -> Result<Vec<T>, Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, tonic::Status>> + Send + 'static,
    {
        let runtime = self.threads.runtime(0);
        let mut stop = self.run.stop.subscribe();
        let asked: Vec<_> = self
            .connections
            .iter()
            .step_by(self.settings.connections_per_node.max(1))
            .enumerate()
            .map(|(node, first)| runtime.spawn(node::within(limit, call(node, first.clone()))))
            .collect();
        let mut answers = Vec::with_capacity(asked.len());
        for (info, task) in self.nodes.iter().zip(asked) {
            let abort = task.abort_handle();
            let answer = runtime.block_on(async {
                tokio::select! {
                    answer = task => Some(answer),
                    _ = stop.wait_for(|stop| *stop) => None,
                }
            });
            let Some(answer) = answer else {
                abort.abort();
                self.run.check()?;
                return Err(Failure::Internal("the connections were closed".into()));
            };
            match answer {
                Ok(Ok(answer)) => answers.push(answer),
                Ok(Err(status)) => {
                    self.run.fail(failure(info.description.node_name.clone(), status));
                    self.run.check()?;
                }
                Err(panic) => {
                    self.run.fail(Failure::Internal(panic.to_string()));
                    self.run.check()?;
                }
            }
        }
        Ok(answers)
    }
}

impl<L: LoadGen> Drop for Qdl<L> {
    /// Ends the streams in order, so that nodes see a client that has finished rather than one that is lost.
    fn drop(&mut self) {
        self.run.stop.send_replace(true);
        self.run.dispatch.close();
        self.lanes.iter().for_each(|lane| lane.wake_sender());
        // The connections' tasks hold a subscription each; they are gone when all have ended.
        let closed = async {
            self.run.stop.closed().await;
            let close = |connection: &Connection| {
                let connection = connection.clone();
                async move { connection.close().await }
            };
            self.connections.iter().map(close).collect::<JoinSet<_>>().join_all().await;
        };
        let closed = async {
            let _ = tokio::time::timeout(CLOSING_TIME, closed).await;
        };
        self.threads.runtime(0).block_on(closed);
    }
}

/// Opens all connections at the same time, each on the thread that will serve it.
fn open_connections(
    settings: &Settings,
    threads: &IoThreads,
    per_node: usize,
) -> Result<Vec<Connection>, ConnectError> {
    let addresses = settings.nodes.iter().flat_map(|a| std::iter::repeat_n(a.clone(), per_node));
    let opening: Vec<_> = addresses
        .enumerate()
        .map(|(number, address)| {
            let network = settings.network.clone();
            threads.runtime(number).spawn(async move { node::connect(&address, &network).await })
        })
        .collect();
    threads.runtime(0).block_on(async {
        let mut connections = Vec::with_capacity(opening.len());
        for opened in opening {
            connections.push(opened.await.map_err(|e| ConnectError::Local(e.to_string()))??);
        }
        Ok(connections)
    })
}

/// A node that keeps no digests is found before the run, not after it.
fn check_digests(
    settings: &Settings,
    threads: &IoThreads,
    connections: &[Connection],
    per_node: usize,
    nodes: &[NodeInfo],
) -> Result<(), ConnectError> {
    let limit = settings.network.control_timeout;
    for (connection, node) in connections.iter().step_by(per_node).zip(nodes) {
        if !threads.runtime(0).block_on(node::knows_digests(connection, limit)) {
            return Err(ConnectError::NoDigests(node.description.node_name.clone()));
        }
    }
    Ok(())
}

fn describe_nodes(
    settings: &Settings,
    threads: &IoThreads,
    connections: &[Connection],
    per_node: usize,
) -> Result<Vec<NodeInfo>, ConnectError> {
    let limit = settings.network.control_timeout;
    threads.runtime(0).block_on(async {
        let mut asking = JoinSet::new();
        let first = connections.iter().step_by(per_node).cloned();
        for (node, connection) in first.enumerate() {
            let address = settings.nodes[node].clone();
            asking
                .spawn(async move { (node, node::interview(&connection, &address, limit).await) });
        }
        let mut answers = asking.join_all().await;
        answers.sort_by_key(|(node, _)| *node);
        answers.into_iter().map(|(_, answer)| answer).collect()
    })
}

/// The window of one connection: its share of what the node may have in flight.
fn window(settings: &Settings, node: &NodeInfo) -> Window {
    let limit = |own: Option<usize>, theirs: u64| {
        let theirs = usize::try_from(theirs).unwrap_or(usize::MAX);
        own.unwrap_or(theirs).min(theirs) / settings.lanes_per_node()
    };
    let takes = &node.description;
    let samples = limit(settings.window_samples, takes.max_in_flight_samples.into());
    let bytes = limit(settings.window_bytes, takes.max_in_flight_bytes);
    Window::new(samples.min(MAX_SLOTS), bytes.min(limits::CONNECTION_WINDOW_BYTES as usize))
}
