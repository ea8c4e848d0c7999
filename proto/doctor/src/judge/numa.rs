//! What is near what: interfaces, cores of `--pin`, accelerators.

use netdiv_evidence::Numa;

use crate::{
    facts::{Facts, numa_node},
    finding::{Finding, Remedy, Severity},
    id::Id,
    needs::Needs,
    report::Report,
};

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    let numa = &facts.condition.numa;
    match numa.nodes.len() {
        0 => return report.unknown("the NUMA nodes"),
        1 => return,
        _ => {}
    }
    for name in report.links().to_owned() {
        let near = numa_node(&facts.machine, &name).filter(|id| numa.node(*id).is_some());
        match near {
            None => report.unknown(format!("the NUMA node of {name}")),
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
    let remedy = match some.as_slice() {
        [] => Remedy::advice(format!(
            "NUMA node {near} has no processors; use an interface of another node"
        )),
        some => Remedy::advice(format!("give --pin {}, of NUMA node {near}", some.join(","))),
    };
    if needs.pin.is_empty() {
        let seen = format!(
            "{link} is on NUMA node {near} of {}, and the I/O threads may run on any (no --pin)",
            numa.nodes.len()
        );
        report.add(Finding::new(Id::NumaUnpinned, Severity::Note, link, seen, remedy));
        return;
    }
    let far = needs.pin.iter().filter_map(|core| Some((*core, numa.of_processor(*core)?.id)));
    let far: Vec<_> = far.filter(|(_, node)| *node != near).collect();
    let Some((_, node)) = far.first() else { return };
    let names: Vec<_> = far.iter().map(|(core, _)| core.to_string()).collect();
    let seen = format!(
        "{link} is on NUMA node {near}; cores {} of --pin are not, but on node {node}{}",
        names.join(","),
        distance(numa, near, *node)
    );
    report.add(Finding::new(Id::NumaPin, Severity::Warning, link, seen, remedy));
}

fn accelerators(numa: &Numa, link: &str, near: u32, report: &mut Report) {
    for (address, node) in &numa.accelerators {
        let Some(node) = node.filter(|id| numa.node(*id).is_some()) else {
            report.unknown(format!("the NUMA node of the accelerator {address}"));
            continue;
        };
        if node == near {
            continue;
        }
        let seen = format!(
            "the accelerator {address} is on NUMA node {node}, {link} on node {near}{}",
            distance(numa, near, node)
        );
        let remedy = Remedy::advice(format!(
            "use an interface of NUMA node {node}, or with --devices only accelerators of node {near}"
        ));
        report.add(Finding::new(Id::NumaAccelerator, Severity::Note, link, seen, remedy));
    }
}

fn distance(numa: &Numa, from: u32, to: u32) -> String {
    let distance = numa.distance(from, to);
    distance.map(|distance| format!(" (distance {distance}, where 10 is near)")).unwrap_or_default()
}
