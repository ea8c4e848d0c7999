//! Formatting and detection of bits per second.

use std::sync::LazyLock;

use regex_lite::Regex;

/// Formats a rate in Gb/s, with its significant digits.
pub(crate) fn format_rate(bits: f64) -> String {
    match bits / 1e9 {
        gigabits if gigabits >= 10.0 => format!("{gigabits:.0} Gb/s"),
        gigabits if gigabits >= 0.01 => format!("{gigabits:.2} Gb/s"),
        _ => format!("{bits:.0} b/s"),
    }
}

/// Formats the speed of an interface: `100 Gb/s`, `2.5 Gb/s`, `100 Mb/s`.
pub(crate) fn format_interface_speed(megabits_per_second: u64) -> String {
    match megabits_per_second {
        gigabits if gigabits >= 1000 && gigabits.is_multiple_of(1000) => {
            format!("{} Gb/s", gigabits / 1000)
        }
        gigabits if gigabits >= 1000 => format!("{:.1} Gb/s", gigabits as f64 / 1000.0),
        megabits => format!("{megabits} Mb/s"),
    }
}

/// Patterns of a rate: its number, which is above 0, and its unit of bits, bytes or Ethernet.
const NUMBER: &str = r"(?:0[0.,]*)?[1-9]\d*(?:[.,]\d+)*";
const UNIT: &str = r"[KkMmGgTt](?:b|(?i:be|ige?|base[a-z/]*|(?:ilo|ega|iga|era)?bits?|(?:ilo|ega|iga|era)?(?:b|bits?|bytes?)(?:ps|/s|/sec|/second)))";

/// Pattern of a rate whose unit is `G` or `T`. A single digit is a generation of radio networks,
/// such as `5G`.
const SHORT: &str =
    r"(?:0[.,]\d*[1-9]\d*|[1-9]\d+(?:[.,]\d+)*|[1-9][.,]\d*[1-9]\d*|[1789](?:[.,]0+)?)[ -]?[GgTt]";

/// Pattern of a rate that stands alone or follows a count, as in `2x100GbE`, but not in a name such
/// as `OM4` or `v1.2`. `None` if the pattern is invalid, which a test rules out.
static RATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let before = r"(?:^|[^\w.]|\d *[xX×])";
    Regex::new(&format!("{before}(?:{NUMBER}[ -]?{UNIT}|{SHORT})(?:[^A-Za-z/]|$)")).ok()
});

/// Returns true if a text states a rate such as `100 Gb/s`, `2x100GbE` or `2 x 25 Gbps`. Lengths,
/// kinds of fibre, sizes of memories and transfers have other units.
pub(crate) fn states_a_rate(text: &str) -> bool {
    RATE.as_ref().is_some_and(|rate| rate.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_known_as_people_write_them() {
        let rates = "100 Gb/s|100Gbps|100GbE|0.8T|2 x 100 Gbit/s|100G|0.1 Tb/s|12.5 GB/s|1000 Mb/s|\
             OM4 multimode, 25 Gb/s|5 m DAC, 100 Gb/s|OS2, 10 km, 400GbE|\
             2 m, 3 m or 5 M copper, 25GBASE-CR|PCIe 4.0 at 16 GT/s, 100 Gbit/s|\
             5G NR, 2.5 Gb/s|2.4 GHz radio, 0.6 gbps|v1.2G adapter with 64 GB, 40 Gigabit|\
             HDR, 200 gigabits/s as 200Gbits/s|1x 25-Gb/s|2x100GbE|4x25G|QSFP56 2x100 Gb/s|\
             100 Gb/sec (4X EDR)|200Gbits/sec|100 gigabits per second|1 terabit/s|\
             100,000 Mb/s|12.5 GB/sec|1, 2 or 4 ports, 400 Gb/s|\
             2 x 25 Gb/s over OM4 multimode, 5 m";
        for text in rates.split('|') {
            assert!(states_a_rate(text), "{text}");
        }
        let others = "|fast|100|Gb/s|0 Gb/s|très 100|OM4 multimode|5 m DAC|100 M fibre|5G|5.0G|4G LTE|\
             16 GT/s|64 GB|2.4 GHz|10 Meter|3 Gates";
        for text in others.split('|') {
            assert!(!states_a_rate(text), "{text}");
        }
        assert_eq!(format_rate(100e9), "100 Gb/s");
        let speeds = [100_000, 2500, 100].map(format_interface_speed);
        assert_eq!(speeds, ["100 Gb/s", "2.5 Gb/s", "100 Mb/s"]);
    }
}
