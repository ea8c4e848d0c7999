//! N14: `Name()` makes a round trip over the network (rules, section 6.2.1).

use crate::subject::{Findings, PlaceJudgement, RunFiles, Subject};

/// Minimum duration of `Name()`, in nanoseconds. Every implementation without a round trip took
/// less, and every one with a round trip took more.
const LEAST_NS: u64 = 10_000;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    // N13 finds a missing name.
    let named = subject.details().filter(|(_, _, detail)| detail.text("sut_name").is_some());
    for (_, run, detail) in named {
        round_trip(run, detail.integer("get_sut_name_duration_ns"), found.at(&run.place));
    }
}

fn round_trip(run: &RunFiles, duration: Option<u64>, mut at: PlaceJudgement) {
    let Some(duration) = duration else {
        return at.fail(
            "the detail log has no get_sut_name_duration_ns: a LoadGen of v3.0 or later writes it",
        );
    };
    if duration <= LEAST_NS {
        return at.fail(format!(
            "Name() took {duration} ns, too short for a round trip over a network: ask the nodes each time"
        ));
    }
    let Some(record) = run.result() else { return };
    let round_trips = || record.nodes.iter().map(|node| node.round_trip_ns);
    if round_trips().any(|ns| ns == 0) {
        let text = "the record lacks the round-trip time of a node";
        return at.unknown_at(&run.record_place, text);
    }
    // `round_trip_ns` is the minimum of several round trips to a node. `Name()` must take at least
    // half of the farthest node's, because the latency of a route varies.
    let farthest = round_trips().max().unwrap_or(0);
    if duration < farthest / 2 {
        at.fail(format!(
            "Name() took {duration} ns, and a round trip to the farthest node takes {farthest} ns"
        ));
    }
    at.or_pass("Name() took as long as a round trip to the farthest node, or longer");
}
