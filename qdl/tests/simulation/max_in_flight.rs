//! Schedules with [`crate::Settings::max_in_flight`], in which a thread issues a query as LoadGen
//! does. Each step begins once the thread has used all room. In every schedule, no more samples than
//! the limit are without a response, and a failure ends the wait of the thread.

use std::{sync::mpsc, thread, time::Duration};

use super::*;

/// Number of samples of the query.
const QUERY: usize = 40;

/// Number of steps after which a schedule has no more faults.
const FAULTY_STEPS: usize = 100;

/// Time after which a schedule fails instead of waiting forever.
const DEADLINE: Duration = Duration::from_secs(20);

/// Runs a schedule, and returns true if its query was issued, and true if a node was lost before.
fn try_schedule(seed: u64, limit: usize) -> (bool, bool) {
    let most = NonZero::new(limit).expect("a limit");
    let mut world = World::new(seed, Some(most));
    let (run, issuing) = (world.cluster.run.clone(), world.cluster.run.clone());
    let (done, outcome) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let samples = (0..QUERY).map(|number| {
            let (ticket, index) = (number as u64, number % SAMPLES);
            let mut open = issuing.loadgen.open.lock();
            assert!(open.len() <= limit, "{} samples are issued", open.len());
            open.insert(ticket, (index, false));
            (ticket, index)
        });
        done.send(issuing.issue_within(most, samples))
    });
    let is_over = || run.failure().is_some() || run.issued() == QUERY as u64;
    for step in 0.. {
        let begun = Instant::now();
        while !is_over() && run.unanswered() < limit as u64 {
            assert!(begun.elapsed() < DEADLINE, "{} of {limit} samples", run.unanswered());
            thread::yield_now();
        }
        if is_over() {
            break;
        }
        world.step(step < FAULTY_STEPS);
        check_times(&world, limit);
    }
    let outcome = outcome.recv_timeout(DEADLINE).expect("the thread ends");
    let losses = run.losses();
    world.settle();
    assert!(outcome.is_ok() || outcome.as_ref().err() == run.failure());
    (outcome.is_ok(), losses > 0)
}

/// Checks that each sample in flight was issued after the response that made room for it.
fn check_times(world: &World, limit: usize) {
    let completed = world.book.completed.lock();
    for wire in &world.wires {
        for sample in wire.lane.state.lock().in_flight.iter() {
            let before = (sample.ticket as usize).checked_sub(limit);
            assert!(before.is_none_or(|before| completed[before] <= sample.issued));
        }
    }
}

#[test]
fn a_query_always_has_as_many_samples_in_flight_as_its_limit() {
    let limits = [1, 2, 3, 10, QUERY - 1, QUERY, usize::MAX];
    let (mut went_on, mut failed) = (0, 0);
    for (seed, limit) in (0..50).flat_map(|seed| limits.map(|limit| (seed, limit))) {
        let schedule = std::panic::catch_unwind(|| try_schedule(seed, limit));
        let (issued, lost) = schedule.unwrap_or_else(|panic| {
            eprintln!("schedule {seed} with the limit {limit}");
            std::panic::resume_unwind(panic)
        });
        // A query within the limit is issued before the first step.
        assert!(limit < QUERY || (issued && !lost));
        went_on += usize::from(issued && lost);
        failed += usize::from(!issued);
    }
    assert!(went_on > 20 && failed > 20, "{went_on} {failed}");
}
