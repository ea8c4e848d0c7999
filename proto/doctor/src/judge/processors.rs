//! Frequencies and shares of the processors, and the threads on them.

use std::collections::{BTreeMap, BTreeSet};

use netdiv_evidence::Quota;

use crate::{
    facts::Facts,
    finding::{Finding, Remedy, Severity},
    id::Id,
    needs::Needs,
    report::Report,
};

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    governor(facts, needs, report);
    quota(facts, needs, report);
    let cores = needs.pin.iter().collect::<BTreeSet<_>>().len();
    if cores > 0 && cores < needs.io_threads {
        let seen = format!("--pin names {cores} cores for {} I/O threads", needs.io_threads);
        let remedy = Remedy::advice(
            "name as many cores as there are I/O threads, or ask for fewer --io-threads",
        );
        report.add(Finding::of_machine(Id::SharedCore, Severity::Warning, seen, remedy));
    }
}

fn governor(facts: &Facts, needs: &Needs, report: &mut Report) {
    let governors = &facts.condition.processors.governors;
    if governors.is_empty() {
        return report.unknown("the governor of the processors' frequency");
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
    let each: Vec<_> =
        slow.iter().map(|(governor, count)| format!("{governor} ({count})")).collect();
    let seen = format!("the governor of processors that are used is {}", each.join(", "));
    let remedy = Remedy::command("cpupower frequency-set -g performance");
    report.add(Finding::of_machine(Id::Governor, Severity::Warning, seen, remedy));
}

fn quota(facts: &Facts, needs: &Needs, report: &mut Report) {
    match facts.condition.processors.quota {
        None => report.unknown("the quota of processor time"),
        Some(Quota::None) => {}
        Some(Quota::Processors(share)) => {
            let threads = needs.io_threads;
            let is_short = share < threads as f64;
            let severity = if is_short { Severity::Warning } else { Severity::Note };
            let seen = format!(
                "the control group may use {share:.2} processors' time, and the program has {threads} I/O threads besides its \
                 other threads"
            );
            let remedy = Remedy::advice(
                "give it whole processors in place of a quota: AllowedCPUs= for CPUQuota= of a service, a static CPU manager and \
                 whole numbers for a pod",
            );
            report.add(Finding::of_machine(Id::CpuQuota, severity, seen, remedy));
        }
    }
}
