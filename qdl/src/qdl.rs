//! Interface of the Query Dispatch Library to the LoadGen node.

use std::{
    num::NonZero,
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_contract::SessionHeader;
use netdiv_transport::{Connection, QuicPath, poll_inline};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::{
    agreement::Expectation,
    cluster::Cluster,
    connect_error::ConnectError,
    dispatch::Dispatch,
    failure::Failure,
    inbox::QueuedSample,
    io_threads::{IoThreads, Pace},
    lane::{Lane, ResponseRules},
    loadgen::{LoadGen, SampleSource},
    node::{self, NodeInfo},
    opening::{self, OpenNodes},
    receiver,
    report::{NodeReport, Progress},
    run::Run,
    settings::Settings,
    tokens::{AnnouncedTokens, requested_tokens},
};

/// Maximum time for the connections to close after the run.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// Query Dispatch Library, connected to all nodes of a run. Its methods block, so an asynchronous
/// task must not call them.
pub struct Qdl<L: LoadGen> {
    pub(crate) settings: Settings,
    pub(crate) session: SessionHeader,
    pub(crate) nodes: Vec<NodeInfo>,
    /// Number of samples that each node reported as received at the last flush, by the node's
    /// index.
    pub(crate) acknowledged: Mutex<Vec<u64>>,
    /// All connections, grouped by node.
    pub(crate) connections: Vec<Connection>,
    pub(crate) cluster: Arc<Cluster<L>>,
    pub(crate) run: Arc<Run<L>>,
    pub(crate) threads: IoThreads,
    pace: Pace,
}

impl<L: LoadGen> std::fmt::Debug for Qdl<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Qdl").field("nodes", &self.settings.nodes).finish_non_exhaustive()
    }
}

impl<L: LoadGen> Qdl<L> {
    /// Connects to all nodes, checks that they meet `expected` and serve the same model, and opens
    /// the streams of samples. `source` holds the samples; `loadgen` receives the responses.
    pub fn connect(
        settings: Settings,
        expected: &Expectation,
        loadgen: L,
        source: Arc<dyn SampleSource>,
    ) -> Result<Self, ConnectError> {
        if settings.nodes.is_empty() {
            return Err(ConnectError::Unfit("no nodes; give --nodes HOST:PORT,…".into()));
        }
        let threads =
            IoThreads::start(&settings).map_err(|error| ConnectError::Local(error.to_string()))?;
        let lane_count = settings.nodes.len() * settings.lanes_per_node();
        if lane_count > usize::from(u16::MAX) {
            return Err(ConnectError::Local(format!("{lane_count} streams are too many")));
        }
        let OpenNodes { nodes, connections } = opening::open(&settings, &threads, expected)?;
        let dispatch = Dispatch::new(settings.policy, lane_count, settings.inbox_samples);
        let run = Run::new(loadgen, source, dispatch, nodes.len(), settings.max_in_flight);
        let run = Arc::new(run);
        let lanes = lanes(&settings, &nodes, lane_count, &run);
        let cluster = Cluster::new(run.clone(), lanes, settings.on_node_loss, nodes.len());
        let session = SessionHeader {
            name: format!("{:016x}", node::nonce()),
            digests: settings.digests,
            checksums: settings.checksums,
            tokens: requested_tokens(settings.tokens),
            max_output_tokens: settings.max_output_tokens.map_or(0, NonZero::get),
        };
        let (cluster, acknowledged) = (Arc::new(cluster), Mutex::new(vec![0; nodes.len()]));
        let qdl = Self {
            settings,
            session,
            nodes,
            acknowledged,
            connections,
            cluster,
            run,
            threads,
            pace: Pace::new(Instant::now()),
        };
        qdl.cluster.lanes.iter().for_each(|lane| qdl.serve(lane));
        Ok(qdl)
    }

    /// Opens the stream of a lane and serves it, on the thread that serves its connection.
    fn serve(&self, lane: &Arc<Lane<L>>) {
        let number = lane.number % self.connections.len();
        let runtime = self.threads.runtime(number);
        let (connection, session) = (self.connections[number].clone(), self.session.clone());
        let (cluster, lane) = (self.cluster.clone(), lane.clone());
        let limits = self.settings.network.clone();
        let serving = runtime.spawn(receiver::serve(lane.clone(), connection, session, limits));
        runtime.spawn(async move {
            match serving.await {
                Ok(Ok(())) => {}
                Ok(Err(broken)) => cluster.broken(&lane, broken),
                Err(panic) => cluster.run.fail(Failure::Internal(panic.to_string())),
            }
        });
    }

    /// Returns the nodes, in the order of the settings, as they described themselves before the
    /// run.
    pub fn nodes(&self) -> &[NodeInfo] {
        &self.nodes
    }

    /// Issues samples to the nodes: the ticket and the index of each. Blocks while too many samples
    /// are unsent. With [`Settings::one_query_at_a_time`], also blocks until all issued samples are
    /// answered. With [`Settings::max_in_flight`], also blocks before each sample until fewer than
    /// that number are unanswered.
    pub fn issue(
        &self,
        samples: impl ExactSizeIterator<Item = (L::Ticket, usize)>,
    ) -> Result<(), Failure> {
        self.run.check_failure()?;
        if let Some(limit) = self.run.max_in_flight {
            return self.run.issue_within(limit, samples);
        }
        self.run.add_issued(samples.len() as u64);
        let issued = Instant::now();
        // When queries follow each other quickly, the connections' threads are awake and send
        // several samples together.
        let alone = samples.len() == 1 && self.pace.note_query(issued) && !self.settings.busy_poll;
        let mut pending = samples.map(|(ticket, index)| QueuedSample { ticket, index, issued });
        let mut push = || self.run.dispatch.push(&mut pending);
        self.run.unless_closed(if alone { poll_inline(push) } else { push() })?;
        if self.settings.one_query_at_a_time {
            self.run.wait_until(Run::is_idle)?;
        }
        Ok(())
    }

    /// Ends a series, which is the samples that LoadGen has issued since the last flush. Waits
    /// until all samples are sent, every node has acknowledged their number, and every response has
    /// arrived.
    ///
    /// Waiting for the responses here instead of in LoadGen lets a failure still end the test.
    pub fn flush(&self) -> Result<(), Failure> {
        loop {
            let losses = self.run.losses();
            self.run.wait_until(Run::is_settled)?;
            self.run.unless_closed(self.run.dispatch.wait_until_empty())?;
            self.end_series(losses)?;
            self.run.wait_until(|run| run.is_idle() || run.losses() != losses)?;
            // The samples of a node lost in the meantime went to other nodes, which need another
            // flush.
            if self.run.losses() == losses {
                return Ok(());
            }
        }
    }

    /// Returns a function that ends the run with a failure, from any thread. The function does not
    /// keep the connections open.
    pub fn stopper(&self) -> impl Fn(Failure) + Send + use<L> {
        let run = Arc::downgrade(&self.run);
        move |failure| {
            if let Some(run) = run.upgrade() {
                run.fail(failure);
            }
        }
    }

    /// Returns the failure of the run, if the run failed.
    pub fn failure(&self) -> Option<&Failure> {
        self.run.failure()
    }

    /// Returns a snapshot of the counters of all lanes together.
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        for lane in &self.cluster.lanes {
            let state = lane.state.lock();
            progress.sent += state.report.sent - state.report.taken_back;
            progress.answered += state.report.answered;
            progress.latency_sum_ns += state.report.latency_sum_ns;
        }
        // Read last, so that it is at least as large as the other counters.
        progress.issued = self.run.issued();
        progress
    }

    /// Returns a function that reads, from any thread, the number of issued samples, the counters of
    /// each node, and true if the run has failed. The function does not keep the connections open,
    /// and returns `None` once the QDL is dropped. [`NodeReport::acknowledged`] stays 0.
    pub fn reader(&self) -> impl Fn() -> Option<(u64, Vec<NodeReport>, bool)> + Send + use<L> {
        let (cluster, nodes) = (Arc::downgrade(&self.cluster), self.empty_reports());
        move || {
            let (cluster, mut reports) = (cluster.upgrade()?, nodes.clone());
            reports.iter_mut().enumerate().for_each(|(node, report)| cluster.count(node, report));
            // Read last, so that it is at least as large as the number of samples sent.
            Some((cluster.run.issued(), reports, cluster.run.failure().is_some()))
        }
    }

    fn empty_reports(&self) -> Vec<NodeReport> {
        let empty = |info: &NodeInfo| NodeReport::new(&info.description.node_name, &info.address);
        self.nodes.iter().map(empty).collect()
    }

    /// Returns the counters of each node, in the order of the settings.
    pub fn report(&self) -> Vec<NodeReport> {
        let mut reports = self.empty_reports();
        for (node, report) in reports.iter_mut().enumerate() {
            self.cluster.count(node, report);
            report.acknowledged = self.acknowledged.lock()[node];
        }
        reports
    }

    /// Returns a part of each lane's counters, by its number. [`NodeReport::acknowledged`] is 0.
    pub fn read_lanes<T>(&self, part: impl Fn(&NodeReport) -> T) -> Vec<T> {
        self.cluster.lanes.iter().map(|lane| part(&lane.state.lock().report)).collect()
    }

    /// Returns the statistics that QUIC keeps of the network path of each connection; empty over
    /// TCP.
    pub fn quic_paths(&self) -> Vec<QuicPath> {
        self.connections.iter().filter_map(Connection::quic_path).collect()
    }
}

/// Creates `count` lanes, the same number to each node. The dispatch takes turns among lanes in the
/// order of their numbers, so consecutive numbers belong to different connections.
fn lanes<L: LoadGen>(
    settings: &Settings,
    nodes: &[NodeInfo],
    count: usize,
    run: &Arc<Run<L>>,
) -> Vec<Arc<Lane<L>>> {
    let per_node = settings.connections_per_node.max(1);
    let tokens: Vec<_> = nodes.iter().map(opening::token_room).collect();
    let lane = |number: usize| {
        let node = number % (nodes.len() * per_node) / per_node;
        let info = &nodes[node];
        let report = NodeReport::new(&info.description.node_name, &info.address);
        let window = opening::window(settings, info, tokens[node].clone(), number);
        let agreed = ResponseRules {
            tokens: settings.tokens,
            token_bounds: settings.token_bounds,
            announced: AnnouncedTokens::of(&info.description, settings.max_output_tokens),
            token_counts: info.description.token_counts,
            never_empty: info.description.never_empty,
        };
        let batch = info.description.max_batch as usize;
        Arc::new(Lane::new(number, node, run.clone(), window, batch, agreed, report))
    };
    (0..count).map(lane).collect()
}

impl<L: LoadGen> Drop for Qdl<L> {
    /// Ends the streams in order, so that the nodes detect a client that has finished rather than a
    /// lost client.
    fn drop(&mut self) {
        self.run.end();
        self.cluster.lanes.iter().for_each(|lane| lane.wake_sender());
        // Each task of a connection holds a subscription; the channel closes when all tasks have
        // ended.
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
