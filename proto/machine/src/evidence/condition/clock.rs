//! Clocks: the kernel's clock source, and the time service.

use crate::evidence::System;

const SOURCE: &str = "sys/devices/system/clocksource/clocksource0";

/// Clocks of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clock {
    /// Clock source of the kernel: `tsc`, `hpet`.
    pub source: Option<String>,
    /// Clock sources that the kernel offers.
    pub sources: Vec<String>,
    /// Report of the machine's time service; `None` if no service replies.
    pub synchronisation: Option<Synchronisation>,
}

/// Report of a time service.
#[derive(Debug, Clone, PartialEq)]
pub struct Synchronisation {
    /// Program that printed the report: `chronyc` or `timedatectl`.
    pub program: &'static str,
    /// True if the clock is synchronised.
    pub is_synchronised: bool,
    /// Offset of the clock, in seconds. A positive value means that the clock is fast.
    pub offset_seconds: Option<f64>,
}

impl System {
    pub(super) fn clock(&self) -> Clock {
        let sources = self.read(&format!("{SOURCE}/available_clocksource")).unwrap_or_default();
        let chrony = || tracking(&self.run_program("chronyc", &["-n", "tracking"])?);
        let systemd = || {
            let said = self.run_program("timedatectl", &["show", "--property=NTPSynchronized"])?;
            let is_synchronised = match said.trim() {
                "NTPSynchronized=yes" => true,
                "NTPSynchronized=no" => false,
                _ => return None,
            };
            let program = "timedatectl";
            Some(Synchronisation { program, is_synchronised, offset_seconds: None })
        };
        Clock {
            source: self.read(&format!("{SOURCE}/current_clocksource")),
            sources: sources.split_whitespace().map(Into::into).collect(),
            synchronisation: chrony().or_else(systemd),
        }
    }
}

/// Parses the output of `chronyc tracking`.
fn tracking(text: &str) -> Option<Synchronisation> {
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim())
        })
    };
    // Example: 0.000012345 seconds slow of NTP time
    let offset = value("System time").and_then(|text| {
        let (seconds, rest) = text.split_once(" seconds ")?;
        let seconds: f64 = seconds.trim().parse().ok().filter(|s: &f64| s.is_finite())?;
        match rest.split_whitespace().next()? {
            "fast" => Some(seconds),
            "slow" => Some(-seconds),
            _ => None,
        }
    });
    let is_synchronised = value("Leap status")? != "Not synchronised";
    let offset_seconds = offset.filter(|_| is_synchronised);
    Some(Synchronisation { program: "chronyc", is_synchronised, offset_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chrony_prints_is_read() {
        let text = "Reference ID    : CB00710F (203.0.113.15)\nStratum         : 3\n\
                    System time     : 0.000012500 seconds slow of NTP time\nLeap status     : Normal\n";
        let known = tracking(text).unwrap();
        assert_eq!((known.is_synchronised, known.offset_seconds), (true, Some(-0.0000125)));
        let fast = text.replace("slow", "fast");
        assert_eq!(tracking(&fast).unwrap().offset_seconds, Some(0.0000125));
        for absurd in ["inf", "NaN", "x", ""] {
            let text = text.replace("0.000012500", absurd);
            assert_eq!(tracking(&text).unwrap().offset_seconds, None, "{absurd}");
        }
        let none = tracking(
            "System time : 0.0 seconds slow of NTP time\nLeap status : Not synchronised\n",
        );
        assert_eq!(none.map(|s| (s.is_synchronised, s.offset_seconds)), Some((false, None)));
        assert_eq!(tracking("506 Cannot talk to daemon\n"), None);
    }
}
