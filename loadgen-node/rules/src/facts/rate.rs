//! Bits per second: formatted, and read back.

/// In Gb/s, with what matters of its digits.
pub(crate) fn in_words(bits: f64) -> String {
    match bits / 1e9 {
        gigabits if gigabits >= 10.0 => format!("{gigabits:.0} Gb/s"),
        gigabits if gigabits >= 0.01 => format!("{gigabits:.2} Gb/s"),
        _ => format!("{bits:.0} b/s"),
    }
}

/// The speed of an interface: `100 Gb/s`, `2.5 Gb/s`, `100 Mb/s`.
pub(crate) fn of_interface(megabits_per_second: u64) -> String {
    match megabits_per_second {
        gigabits if gigabits >= 1000 && gigabits.is_multiple_of(1000) => {
            format!("{} Gb/s", gigabits / 1000)
        }
        gigabits if gigabits >= 1000 => format!("{:.1} Gb/s", gigabits as f64 / 1000.0),
        megabits => format!("{megabits} Mb/s"),
    }
}

/// The rate in a text such as `100 Gb/s`, `100GbE` or `2 x 25 Gbps`: a number before `M`, `G` or `T`, and bytes where a
/// `B` stands for them.
pub(crate) fn bits_per_second(text: &str) -> Option<f64> {
    let unit = text.char_indices().find_map(|(place, letter)| {
        let factor = match letter.to_ascii_uppercase() {
            'K' => 1e3,
            'M' => 1e6,
            'G' => 1e9,
            'T' => 1e12,
            _ => return None,
        };
        let before = text[..place].trim_end();
        before.ends_with(|c: char| c.is_ascii_digit()).then_some((place, factor))
    });
    let (place, factor) = unit?;
    let before = text[..place].trim_end();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let start = before.rfind(|c| !is_number(c)).map_or(0, |end| end + 1);
    let number: f64 = before.get(start..)?.parse().ok()?;
    let bytes = text[place + 1..].starts_with("B/");
    Some(number * factor * if bytes { 8.0 } else { 1.0 }).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        for text in ["100 Gb/s", "100Gbps", "100GbE", "2 x 100 Gbit/s", "100G", "0.1 Tb/s"] {
            assert_eq!(bits_per_second(text), Some(100e9), "{text}");
        }
        assert_eq!(bits_per_second("12.5 GB/s"), Some(100e9));
        assert_eq!(bits_per_second("1000 Mb/s"), Some(1e9));
        for text in ["fast", "", "100", "Gb/s", "0 Gb/s", "très 100"] {
            assert_eq!(bits_per_second(text), None, "{text}");
        }
        assert_eq!(in_words(100e9), "100 Gb/s");
        let speeds = [100_000, 2500, 100].map(of_interface);
        assert_eq!(speeds, ["100 Gb/s", "2.5 Gb/s", "100 Mb/s"]);
    }
}
