//! Nodes of a run, and the decision whether the run continues when a node is lost.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{
    failure::Failure,
    lane::{FirstTokenReported, Lane},
    loadgen::LoadGen,
    receiver::StreamEnd,
    report::NodeReport,
    run::Run,
    settings::OnNodeLoss,
};

/// Nodes of a run: the lanes to all nodes, and the failures of lost nodes.
pub(crate) struct Cluster<L: LoadGen> {
    pub(crate) run: Arc<Run<L>>,
    pub(crate) lanes: Vec<Arc<Lane<L>>>,
    on_loss: OnNodeLoss,
    /// Failure of each lost node, by the node's index; `None` while the node is not lost.
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

    /// Removes a lost node from the run, or fails the run with `failure`. Returns true if the run
    /// continues.
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

    /// Handles the end of a lane's stream before the end of the run. Reassigns each unanswered
    /// sample of the lane to another node, or fails the run if that is not allowed.
    pub(crate) fn broken(&self, lane: &Lane<L>, StreamEnd { failure, mid_answer }: StreamEnd) {
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
                self.run.dispatch.reassign(samples);
                self.run.settle();
            }
            Err(FirstTokenReported) => self.run.fail(Failure::CutAfterFirst { node, why }),
        }
    }

    pub(crate) fn is_lost(&self, node: usize) -> bool {
        self.lost.lock()[node].is_some()
    }

    /// Returns true if this node has samples in flight.
    pub(crate) fn has_pending(&self, node: usize) -> bool {
        self.lanes_to(node).any(|lane| lane.has_pending())
    }

    /// Returns the number of samples that were sent to this node.
    pub(crate) fn sent_to(&self, node: usize) -> u64 {
        self.lanes_to(node).map(|lane| lane.state.lock().report.sent).sum()
    }

    /// Adds the counters of all lanes to a node to `report`, and sets its [`NodeReport::lost`].
    pub(crate) fn count(&self, node: usize, report: &mut NodeReport) {
        self.lanes_to(node).for_each(|lane| report.merge(&lane.state.lock().report));
        report.lost = self.lost.lock()[node].as_ref().map(ToString::to_string);
    }

    fn lanes_to(&self, node: usize) -> impl Iterator<Item = &Arc<Lane<L>>> {
        self.lanes.iter().filter(move |lane| lane.node == node)
    }
}
