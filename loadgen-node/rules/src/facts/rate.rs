//! Formatting and parsing of bits per second.

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

/// Finds the first rate in a text such as `100 Gb/s`, `2x100GbE` or `2 x 25 Gbps`: a number,
/// followed by a unit of bits or bytes per second. Lengths, kinds of fibre and transfers have other
/// units.
pub(crate) fn bits_per_second(text: &str) -> Option<f64> {
    let mut from = 0;
    while let Some(start) = text[from..].find(|c: char| c.is_ascii_digit()).map(|at| from + at) {
        let (number, length) = number(&text[start..]);
        from = start + length;
        let number = number.filter(|number| *number > 0.0 && !is_part_of_a_name(&text[..start]));
        if let Some(rate) = number.and_then(|number| Some(number * unit(number, &text[from..])?)) {
            return Some(rate);
        }
    }
    None
}

/// Parses the number at the start of a text, also with thousands separators as in `100,000`.
/// Returns the number and its length.
fn number(text: &str) -> (Option<f64>, usize) {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    let written = text[..end].trim_end_matches([',', '.']);
    let mut groups = written.split(',');
    let is_grouped = groups.next().is_some_and(|first| (1..=3).contains(&first.len()))
        && groups.all(|group| group.split('.').next().is_some_and(|digits| digits.len() == 3));
    match (written.contains(','), is_grouped) {
        (true, true) => (written.replace(',', "").parse().ok(), written.len()),
        (true, false) => {
            let first = written.split(',').next().unwrap_or_default();
            (first.parse().ok(), first.len())
        }
        (false, _) => (written.parse().ok(), written.len()),
    }
}

/// Returns true if a number that follows `before` is a part of a name, as in `OM4` and `v1.2`; the
/// `100` in `2x100` is not.
fn is_part_of_a_name(before: &str) -> bool {
    let count = before.strip_suffix(['x', 'X', '×']).map(|count| count.trim_end_matches(' '));
    let is_count = count.is_some_and(|count| count.ends_with(|c: char| c.is_ascii_digit()));
    !is_count && before.ends_with(|c: char| c.is_alphanumeric() || "._".contains(c))
}

/// Returns the value of the unit at the start of a text, in bits per second. `number` is the number
/// before the unit: a bare `G` or `T` is a unit, except in generations of radio networks such as
/// `5G`.
fn unit(number: f64, text: &str) -> Option<f64> {
    let text = text.strip_prefix([' ', '-']).unwrap_or(text);
    let word = text.split(|c: char| !(c.is_ascii_alphabetic() || c == '/')).next()?;
    let mut letters = word.chars();
    let prefix = match letters.next()?.to_ascii_uppercase() {
        'K' => 1e3,
        'M' => 1e6,
        'G' => 1e9,
        'T' => 1e12,
        _ => return None,
    };
    let rest = letters.as_str();
    let bare = ["/second", "/sec", "/s", "ps"].into_iter().find_map(|end| rest.strip_suffix(end));
    let is_generation = [2.0, 3.0, 4.0, 5.0, 6.0].contains(&number);
    match (bare.unwrap_or(rest), bare.is_some()) {
        ("B" | "Byte" | "Bytes", true) => Some(prefix * 8.0),
        // `GB` without a time is the size of a memory.
        ("B", false) => None,
        ("", false) => (prefix >= 1e9 && !is_generation).then_some(prefix),
        (rest, _) => is_of_bits(&rest.to_ascii_lowercase()).then_some(prefix),
    }
}

/// Returns true if the letters after K, M, G or T form a unit of bits or of Ethernet.
fn is_of_bits(rest: &str) -> bool {
    const BITS: [&str; 3] = ["b", "bit", "bits"];
    const WORDS: [&str; 4] = ["ilo", "ega", "iga", "era"];
    let is_bits = |rest: &str| BITS.contains(&rest);
    let is_word = WORDS.into_iter().filter_map(|word| rest.strip_prefix(word)).any(is_bits);
    is_bits(rest) || is_word || ["be", "ig", "ige"].contains(&rest) || rest.starts_with("base")
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
        for (text, gigabits) in [
            ("OM4 multimode, 25 Gb/s", 25.0),
            ("5 m DAC, 100 Gb/s", 100.0),
            ("OS2, 10 km, 400GbE", 400.0),
            ("2 m, 3 m or 5 M copper, 25GBASE-CR", 25.0),
            ("PCIe 4.0 at 16 GT/s, 100 Gbit/s", 100.0),
            ("5G NR, 2.5 Gb/s", 2.5),
            ("2.4 GHz radio, 0.6 gbps", 0.6),
            ("v1.2G adapter with 64 GB, 40 Gigabit", 40.0),
            ("HDR, 200 gigabits/s as 200Gbits/s", 200.0),
            ("1x 25-Gb/s", 25.0),
            ("2x100GbE", 100.0),
            ("4x25G", 25.0),
            ("QSFP56 2x100 Gb/s", 100.0),
            ("100 Gb/sec (4X EDR)", 100.0),
            ("200Gbits/sec", 200.0),
            ("100 gigabits per second", 100.0),
            ("1 terabit/s", 1000.0),
            ("100,000 Mb/s", 100.0),
            ("12.5 GB/sec", 100.0),
            ("1, 2 or 4 ports, 400 Gb/s", 400.0),
            ("2 x 25 Gb/s over OM4 multimode, 5 m", 25.0),
        ] {
            assert_eq!(bits_per_second(text), Some(gigabits * 1e9), "{text}");
        }
        for text in [
            "fast",
            "",
            "100",
            "Gb/s",
            "0 Gb/s",
            "très 100",
            "OM4 multimode",
            "5 m DAC",
            "100 M fibre",
            "5G",
            "4G LTE",
            "16 GT/s",
            "64 GB",
            "2.4 GHz",
            "10 Meter",
            "3 Gates",
        ] {
            assert_eq!(bits_per_second(text), None, "{text}");
        }
        assert_eq!(format_rate(100e9), "100 Gb/s");
        let speeds = [100_000, 2500, 100].map(format_interface_speed);
        assert_eq!(speeds, ["100 Gb/s", "2.5 Gb/s", "100 Mb/s"]);
    }
}
