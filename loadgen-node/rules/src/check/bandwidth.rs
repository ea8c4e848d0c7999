//! N27: the interfaces carry what Appendix B asks for at the throughput that was measured (rules, section 5.1).

use super::{
    checked_folder::{NO_BENCHMARK, Subject},
    findings::Findings,
    likeness::unlike_in_sections,
    machines::seen,
    made_again::report_on_bandwidth,
};
use crate::{Rule::N27, facts::rate::in_words, judge::bandwidth::Demand, tree::documents};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let described: Vec<_> = seen(subject, N27, found);
    for (entry, run) in subject.runs() {
        if !run.kind.is_submitted() {
            continue;
        }
        let Some(benchmark) = entry.benchmark else {
            found.unknown(N27, &run.place, NO_BENCHMARK);
            continue;
        };
        let Some(seen) = described.iter().find(|seen| seen.place == run.record_place) else {
            continue;
        };
        let Some(detail) = run.detail() else { continue };
        let Some(rate) = entry.scenario.and_then(|scenario| detail.figure(scenario)) else {
            found.unknown(N27, &run.place, "LoadGen's log has no throughput");
            continue;
        };
        let demand = Demand::of(benchmark, seen.record, seen.evidence, rate);
        let mut at = found.at(N27, &run.record_place);
        for end in demand.ends.iter().filter(|end| end.is_met() != Some(true)) {
            let who = &end.who;
            match end.capacity {
                Some(capacity) => at.fail(format!(
                    "{rate:.1} samples/s of {} need {} at {who}, whose interfaces have {}",
                    demand.formula(),
                    in_words(end.asked),
                    in_words(capacity)
                )),
                None => at.unknown(format!(
                    "the speed of the interfaces of {who} is not known: state it in the machine's evidence file and run \
                     again"
                )),
            }
        }
        at.or_pass("the interfaces at both ends carry what Appendix B asks for");
    }
    document(subject, found);
}

fn document(subject: &Subject, found: &mut Findings) {
    let text = "the report on the bandwidth is in a submission's documentation";
    let Some(tree) = found.tree(subject, [N27], text) else { return };
    let mut at = found.at(N27, tree.home.document(documents::BANDWIDTH));
    let Some(text) = tree.document(documents::BANDWIDTH) else {
        return at.fail("is missing or empty: compare the interfaces with Appendix B in it");
    };
    let ours = report_on_bandwidth(subject).unwrap_or_default();
    at.fail_each(unlike_in_sections(&ours, &text));
    at.or_pass("its figures are those of the runs");
}
