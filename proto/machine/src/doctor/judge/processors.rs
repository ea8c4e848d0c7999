//! Judgement of the processors' frequencies and quotas, and of the threads on them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    doctor::{
        data::phrase, facts::Facts, finding::Draft, id::Id, needs::Needs, remedy::Severity,
        report::Report,
    },
    evidence::Quota,
};

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    governor(facts, needs, report);
    quota(facts, needs, report);
    let cores = needs.pin.iter().collect::<BTreeSet<_>>().len();
    if cores > 0 && cores < needs.io_threads {
        let draft = Draft::of_machine(Id::SharedCore).fact("cores", cores);
        report.add(draft.fact("threads", needs.io_threads));
    }
}

fn governor(facts: &Facts, needs: &Needs, report: &mut Report) {
    let governors = &facts.condition.processors.governors;
    if governors.is_empty() {
        return report.unknown("governor", &[]);
    }
    let used = |processor: &usize| needs.pin.is_empty() || needs.pin.contains(processor);
    let mut slow: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, governor) in governors.iter().filter(|(processor, _)| used(processor)) {
        if governor != "performance" {
            *slow.entry(governor).or_default() += 1;
        }
    }
    if slow.is_empty() {
        return;
    }
    let share = |(governor, count): (&&str, &usize)| {
        phrase("share", &[("governor", (*governor).to_owned()), ("count", count.to_string())])
    };
    let each: Vec<_> = slow.iter().map(share).collect();
    report.add(Draft::of_machine(Id::Governor).fact("governors", each.join(", ")));
}

fn quota(facts: &Facts, needs: &Needs, report: &mut Report) {
    match facts.condition.processors.quota {
        None => report.unknown("quota", &[]),
        Some(Quota::None) => {}
        Some(Quota::Processors(share)) => {
            let threads = needs.io_threads;
            let is_short = share < threads as f64;
            let severity = if is_short { Severity::Warning } else { Severity::Note };
            let draft = Draft::of_machine(Id::CpuQuota).severity(severity);
            report.add(draft.fact("share", format!("{share:.2}")).fact("threads", threads));
        }
    }
}
