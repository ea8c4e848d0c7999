//! The nodes of a run, and whether it goes on when one is lost.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{
    failure::Failure,
    incoming::Broken,
    lane::{FirstSeen, Lane},
    loadgen::LoadGen,
    report::NodeReport,
    run::Run,
    settings::OnNodeLoss,
};

/// The lanes of all nodes, and which nodes were lost.
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

    /// A node is gone, or wrong: the run goes on without it, or fails. Returns whether the run goes on.
    pub(crate) fn lose(&self, node: usize, failure: Failure) -> bool {
        let mut lost = self.lost.lock();
        if failure.is_loss() && lost[node].is_some() {
            return true;
        }
        let left = lost.iter().filter(|failure| failure.is_none()).count();
        if self.on_loss == OnNodeLoss::Fail || !failure.is_loss() || left == 1 {
            self.run.fail(failure);
            return false;
        }
        lost[node] = Some(failure);
        let lanes = self.lanes_to(node).map(|lane| self.run.dispatch.retire(lane.number));
        self.run.lose(node, lanes.count());
        true
    }

    /// A stream has ended before the run. Its samples go to other nodes where that is allowed, each once.
    pub(crate) fn broken(&self, lane: &Lane<L>, Broken { failure, mid_answer }: Broken) {
        let why = failure.to_string();
        if !self.lose(lane.node, failure) {
            return;
        }
        let node = lane.node_name.clone();
        if mid_answer {
            return self.run.fail(Failure::CutAnswer { node, why });
        }
        match lane.withdraw() {
            Ok(samples) => {
                self.run.dispatch.put_back(samples);
                self.run.settle();
            }
            Err(FirstSeen) => self.run.fail(Failure::CutAfterFirst { node, why }),
        }
    }

    /// Whether that node was lost.
    pub(crate) fn is_lost(&self, node: usize) -> bool {
        self.lost.lock()[node].is_some()
    }

    /// Whether that node owes answers.
    pub(crate) fn is_owed(&self, node: usize) -> bool {
        self.lanes_to(node).any(|lane| lane.is_owed())
    }

    /// Samples that were sent to that node.
    pub(crate) fn sent_to(&self, node: usize) -> u64 {
        self.lanes_to(node).map(|lane| lane.state.lock().report.sent).sum()
    }

    /// Adds up what was counted on the lanes to that node.
    pub(crate) fn count(&self, node: usize, report: &mut NodeReport) {
        self.lanes_to(node).for_each(|lane| report.merge(&lane.state.lock().report));
        report.lost = self.lost.lock()[node].as_ref().map(ToString::to_string);
    }

    fn lanes_to(&self, node: usize) -> impl Iterator<Item = &Arc<Lane<L>>> {
        self.lanes.iter().filter(move |lane| lane.node == node)
    }
}
