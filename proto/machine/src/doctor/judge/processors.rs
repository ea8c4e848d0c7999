//! Judgement of the processors' frequencies and quotas, of the threads on them, and of NUMA
//! distances between interfaces, cores of `--pin` and accelerators.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    doctor::{
        data::Severity,
        facts::{Facts, numa_node},
        finding::{Draft, Id},
        needs::Needs,
        report::Report,
    },
    evidence::{Numa, Quota},
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
    let each: Vec<_> = slow.iter().map(|(governor, count)| format!("{governor}={count}")).collect();
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

pub(super) fn judge_numa(facts: &Facts, needs: &Needs, report: &mut Report) {
    let numa = &facts.condition.numa;
    match numa.nodes.len() {
        0 => return report.unknown("numa", &[]),
        1 => return,
        _ => {}
    }
    for name in report.links().to_owned() {
        let near = numa_node(&facts.machine, &name).filter(|id| numa.node(*id).is_some());
        match near {
            None => report.unknown("numa-link", &[("link", name)]),
            Some(near) => {
                cores(numa, needs, &name, near, report);
                if needs.uses_accelerators {
                    accelerators(numa, &name, near, report);
                }
            }
        }
    }
}

fn cores(numa: &Numa, needs: &Needs, link: &str, near: u32, report: &mut Report) {
    let of_node = numa.node(near).map(|node| node.processors.as_slice()).unwrap_or_default();
    let some: Vec<_> = of_node.iter().take(needs.io_threads.max(1)).map(usize::to_string).collect();
    let draft = |id| {
        let draft = Draft::of(id, link).fact("link", link).fact("near", near);
        draft.fact("wanted", some.join(","))
    };
    if needs.pin.is_empty() {
        return report.add(draft(Id::NumaUnpinned).fact("nodes", numa.nodes.len()));
    }
    let far = needs.pin.iter().filter_map(|core| Some((*core, numa.of_processor(*core)?.id)));
    let far: Vec<_> = far.filter(|(_, node)| *node != near).collect();
    let Some((_, node)) = far.first() else { return };
    let names: Vec<_> = far.iter().map(|(core, _)| core.to_string()).collect();
    let draft = draft(Id::NumaPin).fact("cores", names.join(",")).fact("far", node);
    report.add(draft.fact("distance", distance(numa, near, *node)));
}

fn accelerators(numa: &Numa, link: &str, near: u32, report: &mut Report) {
    for (address, node) in &numa.accelerators {
        let Some(node) = node.filter(|id| numa.node(*id).is_some()) else {
            report.unknown("numa-accelerator", &[("accelerator", address.clone())]);
            continue;
        };
        if node == near {
            continue;
        }
        let draft = Draft::of(Id::NumaAccelerator, link).fact("accelerator", address);
        let draft = draft.fact("link", link).fact("near", near).fact("far", node);
        report.add(draft.fact("distance", distance(numa, near, node)));
    }
}

fn distance(numa: &Numa, from: u32, to: u32) -> String {
    numa.distance(from, to).map_or("unknown".into(), |distance| distance.to_string())
}
