//! Judgement of the clocks.

use crate::doctor::{
    facts::Facts,
    finding::{Draft, Id},
    needs::Needs,
    report::Report,
};

/// Clock sources that a program can read without a system call: counters of processors, and
/// emulations of such counters by hypervisors.
const QUICK: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase"];

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    source(facts, report);
    service(facts, needs, report);
}

fn source(facts: &Facts, report: &mut Report) {
    let clock = &facts.condition.clock;
    let Some(source) = clock.source.as_deref() else {
        return report.unknown("clock-source", &[]);
    };
    if QUICK.contains(&source) {
        return;
    }
    let draft = Draft::of_machine(Id::ClockSource).fact("source", source);
    let quick = QUICK.iter().find(|quick| clock.sources.iter().any(|one| one == *quick));
    report.add(match quick {
        Some(quick) => draft.fact("quick", quick).remedy("offered"),
        None => draft.remedy("none"),
    });
}

fn service(facts: &Facts, needs: &Needs, report: &mut Report) {
    let Some(service) = &facts.condition.clock.synchronisation else {
        report.unknown("clock-offset", &[]);
        return report.add(Draft::of_machine(Id::ClockUnwatched));
    };
    let program = service.program;
    if !service.is_synchronised {
        let draft = Draft::of_machine(Id::ClockUnsynchronised).fact("service", program);
        return report.add(draft.remedy(program));
    }
    let Some(offset) = service.offset_seconds else {
        return report.unknown("clock-offset", &[]);
    };
    let most = needs.clock_tolerance;
    if offset.abs() > most.as_secs_f64() {
        report.add(
            Draft::of_machine(Id::ClockOffset)
                .fact("ms", format!("{:.3}", offset.abs() * 1e3))
                .fact("way", if offset > 0.0 { "fast" } else { "slow" })
                .fact("tolerance", most.as_millis()),
        );
    }
}
