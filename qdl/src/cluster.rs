//! The nodes of a run, and what becomes of it when one is lost.

use std::sync::{Arc, Mutex};

use crate::{
    Failure, LoadGen, OnNodeLoss, incoming::Broken, lane::Lane, lock, report::NodeReport, run::Run,
};

/// All streams to all nodes, and which nodes were lost.
pub(crate) struct Cluster<L: LoadGen> {
    pub(crate) run: Arc<Run<L>>,
    pub(crate) lanes: Vec<Arc<Lane<L>>>,
    on_loss: OnNodeLoss,
    /// Why each node was lost, where it was.
    lost: Mutex<Vec<Option<Failure>>>,
}

impl<L: LoadGen> Cluster<L> {
    pub(crate) fn new(
        run: Arc<Run<L>>,
        lanes: Vec<Arc<Lane<L>>>,
        on_loss: OnNodeLoss,
        nodes: usize,
    ) -> Self {
        Self { run, lanes, on_loss, lost: Mutex::new(vec![None; nodes]) }
    }

    /// A node is gone, or wrong: the run goes on without it or fails. Says whether the run goes on.
    pub(crate) fn lose(&self, node: usize, failure: Failure) -> bool {
        let mut lost = lock(&self.lost);
        if failure.is_loss() && lost[node].is_some() {
            return true;
        }
        let left = lost.iter().filter(|failure| failure.is_none()).count();
        if self.on_loss == OnNodeLoss::Fail || !failure.is_loss() || left == 1 {
            self.run.fail(failure);
            return false;
        }
        lost[node] = Some(failure);
        let streams = self.streams_to(node).map(|lane| self.run.dispatch.retire(lane.number));
        self.run.lose(node, streams.count());
        true
    }

    /// A stream has ended before the run. Its samples go to other nodes where that is allowed, each once.
    pub(crate) fn broken(&self, lane: &Lane<L>, Broken { failure, mid_answer }: Broken) {
        let why = failure.to_string();
        if !self.lose(lane.node, failure) {
            return;
        }
        if mid_answer {
            let node = lane.node_name.clone();
            return self.run.fail(Failure::CutAnswer { node, why });
        }
        self.run.dispatch.put_back(lane.withdraw());
        self.run.settle();
    }

    /// Whether that node was lost.
    pub(crate) fn is_lost(&self, node: usize) -> bool {
        lock(&self.lost)[node].is_some()
    }

    /// Samples that were sent to that node.
    pub(crate) fn sent_to(&self, node: usize) -> u64 {
        self.streams_to(node).map(|lane| lock(&lane.state).report.sent).sum()
    }

    /// What was counted about that node, over all its streams.
    pub(crate) fn count(&self, node: usize, report: &mut NodeReport) {
        self.streams_to(node).for_each(|lane| report.merge(&lock(&lane.state).report));
        report.lost = lock(&self.lost)[node].as_ref().map(ToString::to_string);
    }

    fn streams_to(&self, node: usize) -> impl Iterator<Item = &Arc<Lane<L>>> {
        self.lanes.iter().filter(move |lane| lane.node == node)
    }
}
