//! Detects engines that hang, that fail batch after batch, or whose device is lost. It ends no
//! thread: only the engine's library knows whether the thread can continue.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::watch;
use tonic::Status;
use tracing::{error, info};

use crate::{
    ground::{
        condition::Condition,
        engine_activity::{EngineActivity, examine},
        metrics,
    },
    sample::streams::Streams,
};

/// Number of times that an engine is examined within its time limit.
const EXAMINATIONS: u32 = 10;
/// Bounds of the pause between two examinations, which keep their cost negligible.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Examines the engines until the node ends, and publishes the node's condition. `limit` is the
/// maximum time that an engine spends on a batch. While an engine is stuck, streams that wait for
/// replies are ended, and new streams are refused.
pub(crate) async fn watch(
    engines: Vec<Arc<EngineActivity>>,
    limit: Duration,
    condition: Arc<watch::Sender<Condition>>,
    streams: Arc<Streams>,
) {
    loop {
        tokio::time::sleep((limit / EXAMINATIONS).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)).await;
        let now = Instant::now();
        engines.iter().for_each(|engine| engine.ask(now));
        let found = examine(&engines, limit, now);
        if let Condition::Stuck(why) = &found {
            let aborted = streams.fail_waiting(&Status::aborted(format!(
                "{why}; its samples are abandoned. Check the node's log and its device"
            )));
            metrics::aborted(aborted);
        }
        condition.send_if_modified(|before| adopt_condition(before, found));
    }
}

/// Replaces the condition `before` by `found` and logs it, if it is of another kind. Returns false
/// if the condition stays.
fn adopt_condition(before: &mut Condition, found: Condition) -> bool {
    let same = std::mem::discriminant(before) == std::mem::discriminant(&found);
    // A node that is ending never becomes well again, but a device may be lost meanwhile.
    if same || before.is_ending() && !matches!(found, Condition::Lost(_)) {
        return false;
    }
    match &found {
        Condition::Stuck(why) => error!("the node is unwell: {why}"),
        Condition::Lost(why) => error!("the node ends: {why}"),
        Condition::Failing(why) => error!("the node is not ready: {why}"),
        _ => info!("the node is well again"),
    }
    *before = found;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_ends_keeps_that_condition() {
        let stuck = || Condition::Stuck(String::new());
        let mut condition = Condition::Well;
        assert!(adopt_condition(&mut condition, stuck()));
        assert!(!adopt_condition(&mut condition, stuck()), "logged once");
        assert!(adopt_condition(&mut condition, Condition::Well));
        condition = Condition::Lost("the device is lost".into());
        assert!(!adopt_condition(&mut condition, Condition::Well));
        condition = Condition::Ending("SIGTERM");
        assert!(!adopt_condition(&mut condition, stuck()));
        assert_eq!(condition, Condition::Ending("SIGTERM"));
        assert!(adopt_condition(&mut condition, Condition::Lost("the device is lost".into())));
        assert!(
            !adopt_condition(&mut condition, stuck()),
            "samples in flight are answered with errors"
        );
    }
}
