//! N27: the interfaces carry the bandwidth that Appendix B requires at the measured throughput
//! (rules, section 5.1).

use crate::{
    facts::rate::format_rate,
    judge::bandwidth::Demand,
    subject::{Findings, NO_BENCHMARK, Subject, runs_with_evidence},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let described: Vec<_> = runs_with_evidence(subject, found);
    for (entry, run) in subject.runs() {
        if !run.kind.is_submitted() {
            continue;
        }
        let Some(benchmark) = entry.benchmark else {
            found.unknown(&run.place, NO_BENCHMARK);
            continue;
        };
        let Some(seen) = described.iter().find(|seen| seen.place == run.record_place) else {
            continue;
        };
        let Some(detail) = run.detail() else { continue };
        let Some(rate) = entry.scenario.and_then(|scenario| detail.throughput(scenario)) else {
            found.unknown(&run.place, "LoadGen's log has no throughput");
            continue;
        };
        let demand = Demand::of(benchmark, seen.record, seen.evidence, rate);
        let mut at = found.at(&run.record_place);
        for end in demand.ends.iter().filter(|end| end.is_met() != Some(true)) {
            let who = &end.who;
            match end.capacity {
                Some(capacity) => at.fail(format!(
                    "{rate:.1} samples/s of {} need {} at {who}, whose interfaces have {}",
                    demand.formula(),
                    format_rate(end.asked),
                    format_rate(capacity)
                )),
                None => at.unknown(format!(
                    "the speed of the interfaces of {who} is not known: state it in the machine's evidence file and run \
                     again"
                )),
            }
        }
        at.or_pass("the interfaces at both ends carry what Appendix B requires");
    }
}
