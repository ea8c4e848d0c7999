//! Signs of life of engines: the batches that they have begun and finished. The condition of the
//! node follows from them.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use netdiv_node_common::words::count;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::ground::condition::Condition;

/// Number of successive batches that must fail before the node reports that it is not ready. A
/// broken device fails every batch; a few bad samples fail fewer batches.
const MAX_FAILURES: u32 = 8;

/// Reason why the device of an engine, or the process that computes for it, is lost; set once it
/// is.
pub(crate) type Loss = Arc<OnceLock<String>>;

/// Activity of an engine, as its thread or task records it.
#[derive(Debug, Default)]
pub(crate) struct EngineActivity {
    work: Mutex<ActivityState>,
    lost: Loss,
    /// Runtime of the engine's task, if the runtime has its own thread. This thread may stall while
    /// no batch is recorded that would be the cause.
    runtime: Option<Handle>,
}

#[derive(Debug, Default)]
struct ActivityState {
    /// Number of samples in each batch that has begun and not finished.
    batches: VecDeque<usize>,
    /// Time since which the first of these batches has been running.
    since: Option<Instant>,
    /// Failed batches since the last success.
    failures: u32,
    /// Time of the request for a sign of life that the thread has not answered.
    asked: Option<Instant>,
}

impl EngineActivity {
    /// Creates the record of an engine. `runtime` runs its task, unless that task shares the
    /// runtime of the streams. `process` reports the loss of its process, if it has one.
    pub(crate) fn new(runtime: Option<Handle>, process: Option<Loss>) -> Self {
        Self { work: Mutex::default(), lost: process.unwrap_or_default(), runtime }
    }

    /// Asks the engine's own thread for a sign of life. Does nothing if there is no such thread, or
    /// if it has not answered an earlier request.
    pub(crate) fn ask(self: &Arc<Self>, now: Instant) {
        let Some(runtime) = &self.runtime else { return };
        {
            let mut work = self.work.lock();
            if work.asked.is_some() {
                return;
            }
            work.asked = Some(now);
        }
        let pulse = self.clone();
        runtime.spawn(async move { pulse.work.lock().asked = None });
    }

    /// Records that a batch has begun.
    pub(crate) fn record_begin(&self, samples: usize, now: Instant) {
        let mut work = self.work.lock();
        work.since.get_or_insert(now);
        work.batches.push_back(samples);
    }

    /// Records that the first of the begun batches has ended.
    pub(crate) fn record_finish(&self, failed: bool, now: Instant) {
        let mut work = self.work.lock();
        work.batches.pop_front();
        work.since = (!work.batches.is_empty()).then_some(now);
        work.failures = if failed { work.failures.saturating_add(1) } else { 0 };
    }

    /// Records that the engine's device is lost to this process. The first reason stays.
    pub(crate) fn lost(&self, why: String) {
        let _ = self.lost.set(why);
    }
}

/// Returns the reason why the device of an engine is lost; `None` if no device is lost.
pub(crate) fn loss_reason(engines: &[Arc<EngineActivity>]) -> Option<String> {
    engines.iter().find_map(|engine| engine.lost.get().cloned())
}

/// Derives the node's condition from its engines. It is lost if an engine's device is lost. It is
/// stuck if an engine has been in a batch, or has given no sign of life, for longer than `limit`.
/// It is failing if [`MAX_FAILURES`] successive batches of an engine have failed.
pub(crate) fn examine(engines: &[Arc<EngineActivity>], limit: Duration, now: Instant) -> Condition {
    let mut condition = Condition::Well;
    if let Some(why) = loss_reason(engines) {
        return Condition::Lost(why);
    }
    for (number, engine) in engines.iter().enumerate() {
        let work = engine.work.lock();
        let time = work.since.map(|since| now.saturating_duration_since(since));
        if let (Some(time), Some(samples)) = (time, work.batches.front())
            && time > limit
        {
            return Condition::Stuck(format!(
                "engine {number} has been in a batch of {} for {:.1} s, longer than --engine-timeout \
                 allows",
                count(*samples, "sample"),
                time.as_secs_f64()
            ));
        }
        let silent = work.asked.map(|asked| now.saturating_duration_since(asked));
        if let Some(time) = silent.filter(|time| *time > limit) {
            return Condition::Stuck(format!(
                "the thread of engine {number} has been busy for {:.1} s, longer than --engine-timeout allows",
                time.as_secs_f64()
            ));
        }
        if work.failures >= MAX_FAILURES {
            condition = Condition::Failing(format!(
                "the last {} batches of engine {number} have failed",
                work.failures
            ));
        }
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(45);

    #[test]
    fn an_engine_is_stuck_when_one_batch_takes_too_long() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let engines = [Arc::default(), Arc::new(EngineActivity::default())];
        let engine = &engines[1];
        assert_eq!(examine(&engines, LIMIT, at(1000)), Condition::Well, "idle is not stuck");
        engine.record_begin(4, at(0));
        engine.record_begin(8, at(30));
        assert_eq!(examine(&engines, LIMIT, at(45)), Condition::Well);
        let Condition::Stuck(why) = examine(&engines, LIMIT, at(46)) else { panic!("stuck") };
        assert!(why.starts_with("engine 1 has been in a batch of 4 samples for 46.0 s"), "{why}");
        // The second batch began to run when the first was done.
        engine.record_finish(false, at(50));
        assert_eq!(examine(&engines, LIMIT, at(95)), Condition::Well);
        let Condition::Stuck(why) = examine(&engines, LIMIT, at(96)) else { panic!("stuck") };
        assert!(why.contains("a batch of 8 samples for"), "{why}");
        engine.record_finish(false, at(97));
        assert_eq!(examine(&engines, LIMIT, at(1000)), Condition::Well);
    }

    #[test]
    fn a_thread_that_gives_no_sign_of_life_is_stuck() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let engines = [Arc::new(EngineActivity::new(Some(runtime.handle().clone()), None))];
        let start = Instant::now();
        engines[0].ask(start);
        engines[0].ask(start + LIMIT);
        assert_eq!(examine(&engines, LIMIT, start + LIMIT), Condition::Well);
        let late = start + 2 * LIMIT;
        let Condition::Stuck(why) = examine(&engines, LIMIT, late) else { panic!("stuck") };
        assert!(why.starts_with("the thread of engine 0 has been busy for 90.0 s"), "{why}");
        runtime.block_on(tokio::task::yield_now());
        assert_eq!(examine(&engines, LIMIT, late), Condition::Well);
    }

    #[test]
    fn an_engine_fails_until_a_batch_succeeds() {
        let (engine, now) = (Arc::new(EngineActivity::default()), Instant::now());
        let run = |failed| {
            engine.record_begin(1, now);
            engine.record_finish(failed, now);
            examine(std::slice::from_ref(&engine), LIMIT, now)
        };
        assert!((1..MAX_FAILURES).all(|_| run(true) == Condition::Well));
        assert!(matches!(run(true), Condition::Failing(_)));
        assert_eq!(run(false), Condition::Well);
    }

    #[test]
    fn a_device_that_is_lost_is_lost_for_good() {
        let (engines, now) =
            ([Arc::default(), Arc::new(EngineActivity::default())], Instant::now());
        engines[0].record_begin(1, now);
        engines[1].lost("the device is lost".into());
        let lost = Condition::Lost("the device is lost".into());
        // Although the other engine hangs, and although the lost one finishes another batch.
        assert_eq!(examine(&engines, LIMIT, now + 2 * LIMIT), lost);
        engines[1].record_begin(1, now);
        engines[1].record_finish(true, now);
        assert_eq!(examine(&engines, LIMIT, now), lost);
    }
}
