//! The clocks.

use crate::{
    facts::Facts,
    finding::{Finding, Remedy, Severity},
    id::Id,
    needs::Needs,
    report::Report,
};

/// Counters of processors, and of what hypervisors make of them: they are read without a system call.
const QUICK: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase"];

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    source(facts, report);
    service(facts, needs, report);
}

fn source(facts: &Facts, report: &mut Report) {
    let clock = &facts.condition.clock;
    let Some(source) = clock.source.as_deref() else {
        return report.unknown("what the kernel counts time with");
    };
    if QUICK.contains(&source) {
        return;
    }
    let seen = format!("the kernel counts time with {source}");
    let quick = QUICK.iter().find(|quick| clock.sources.iter().any(|one| one == *quick));
    let remedy = match quick {
        Some(quick) => Remedy::command(format!(
            "echo {quick} > /sys/devices/system/clocksource/clocksource0/current_clocksource"
        )),
        None => Remedy::advice(
            "the kernel offers no counter of the processor, mostly because it found it uneven (dmesg | grep -i clocksource): \
             look at the firmware, or at what the hypervisor offers",
        ),
    };
    report.add(Finding::of_machine(Id::ClockSource, Severity::Warning, seen, remedy));
}

fn service(facts: &Facts, needs: &Needs, report: &mut Report) {
    let Some(service) = &facts.condition.clock.synchronisation else {
        let seen = "neither chronyc nor timedatectl tells about the clock";
        let remedy =
            Remedy::advice("install chrony and start it (in a container: look at the host)");
        report.unknown("the clock's offset");
        report.add(Finding::of_machine(Id::ClockUnwatched, Severity::Note, seen, remedy));
        return;
    };
    let program = service.program;
    if !service.is_synchronised {
        let seen = format!("{program} says that the clock follows no other");
        let remedy = match program {
            "timedatectl" => Remedy::command("timedatectl set-ntp true"),
            _ => Remedy::command("chronyc online && chronyc waitsync 30 0.01"),
        };
        report.add(Finding::of_machine(Id::ClockUnsynchronised, Severity::Warning, seen, remedy));
        return;
    }
    let Some(offset) = service.offset_seconds else { return report.unknown("the clock's offset") };
    let most = needs.clock_tolerance;
    if offset.abs() > most.as_secs_f64() {
        let seen = format!(
            "the clock is {:.3} ms {}, and {} ms can be taken",
            offset.abs() * 1e3,
            if offset > 0.0 { "fast" } else { "slow" },
            most.as_millis()
        );
        let remedy = Remedy::command("chronyc makestep");
        report.add(Finding::of_machine(Id::ClockOffset, Severity::Warning, seen, remedy));
    }
}
