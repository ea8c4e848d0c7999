//! Comparison of a submitter's statements about a system with the evidence. A statement may contain
//! less than the evidence, or more, but must not contradict it.

/// Fields of the system description whose values begin with numbers.
const NUMBERS: [&str; 7] = [
    "number_of_nodes",
    "accelerators_per_node",
    "host_processors_per_node",
    "host_processor_core_count",
    "number_connections",
    "number_nic_loadgen",
    "number_nic_sut",
];

/// Fields of the system description whose values are amounts of bytes or of hertz.
const AMOUNTS: [&str; 3] =
    ["host_memory_capacity", "accelerator_memory_capacity", "host_processor_frequency"];

/// Bounds of a stated amount relative to the evidence: more is installed than a system can use, and
/// `n` gigabytes are less than `n` gibibytes.
const MIN_RATIO: f64 = 0.97;
const MAX_RATIO: f64 = 1.10;

/// Words that are not compared, because they distinguish neither parts nor versions.
const COMMON: &str = "and are the with of on in over x r tm cpu processor processors core cores adapter nic kernel driver drivers \
                      firmware version stack tcp udp ip lts gen node container";

/// Separator between the values of a field whose machines or runs differ.
const SEPARATOR: &str = " / ";

/// Returns true if `stated`, the value of the field `name` in a system description, contradicts
/// `seen`, its value according to the machines and runs.
pub(crate) fn contradicts(name: &str, stated: &str, seen: &str) -> bool {
    let fits: fn(&str, &str) -> bool = match name {
        _ if NUMBERS.contains(&name) => same_numbers,
        _ if AMOUNTS.contains(&name) => same_amount,
        _ => same_words,
    };
    let (stated, seen): (Vec<_>, Vec<_>) =
        (stated.split(SEPARATOR).collect(), seen.split(SEPARATOR).collect());
    let is_seen = |stated: &&str| seen.iter().any(|seen| fits(stated, seen));
    let is_stated = |seen: &&str| stated.iter().any(|stated| fits(stated, seen));
    stated != seen && !(stated.iter().all(is_seen) && seen.iter().all(is_stated))
}

/// Returns true if the numbers in both texts are equal, in order. The longer list may have more at
/// its end.
fn same_numbers(stated: &str, seen: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
    };
    let (stated, seen) = (numbers(stated), numbers(seen));
    seen.is_empty()
        || !stated.is_empty() && stated.iter().zip(&seen).all(|(one, other)| one == other)
}

/// Returns true if the statement contains the amount of the evidence, in decimal or binary units.
fn same_amount(stated: &str, seen: &str) -> bool {
    let Some([_, amount]) = amounts(seen).first().copied() else { return same_words(stated, seen) };
    amounts(stated).iter().flatten().any(|one| (MIN_RATIO..=MAX_RATIO).contains(&(one / amount)))
}

/// Returns all amounts in a text such as `24 x 64 GB`, including the product, each in decimal and
/// in binary units.
fn amounts(text: &str) -> Vec<[f64; 2]> {
    let words = split_words(text);
    let number = |place: Option<usize>| words.get(place?)?.parse::<f64>().ok();
    let mut found = Vec::new();
    for (place, unit) in words.iter().enumerate() {
        let Some(value) = number(place.checked_sub(1)) else { continue };
        let power = match unit.chars().next() {
            Some('k') => 1,
            Some('m') => 2,
            Some('g') => 3,
            Some('t') => 4,
            _ => continue,
        };
        let units = match unit.get(1..).unwrap_or_default() {
            "b" => [1e3, 1024.0],
            "ib" => [1024.0; 2],
            "hz" => [1e3; 2],
            _ => continue,
        };
        let [decimal, binary] = units.map(|unit: f64| value * unit.powi(power));
        found.push([decimal, binary]);
        let is_times = place > 2 && words[place - 2] == "x";
        if let Some(count) = number(place.checked_sub(3)).filter(|_| is_times) {
            found.push([decimal * count, binary * count]);
        }
    }
    found
}

/// Returns true if one of the texts has all words of the other. If the evidence has numbers, such
/// as those of a model or a version, the statement must have a number, too.
fn same_words(stated: &str, seen: &str) -> bool {
    let has_number = |word: &String| word.contains(|c: char| c.is_ascii_digit());
    let (stated, seen) = (significant_words(stated), significant_words(seen));
    let is_named =
        !stated.is_empty() && (stated.iter().any(has_number) || !seen.iter().any(has_number));
    seen.is_empty() || is_named && (is_within(&stated, &seen) || is_within(&seen, &stated))
}

/// Returns true if the statement has a number, such as a version, which the evidence lacks.
pub(crate) fn has_other_numbers(stated: &str, seen: &str) -> bool {
    let (mut stated, seen) = (split_words(stated), split_words(seen));
    stated.retain(|word| word.contains(|c: char| c.is_ascii_digit()));
    stated.iter().any(|word| !seen.iter().any(|other| is_same(word, other)))
}

/// Returns true if each word of `some` matches a different word of `others`.
fn is_within(some: &[String], others: &[String]) -> bool {
    let mut left: Vec<_> = others.iter().collect();
    some.iter().all(|word| {
        let place = left.iter().position(|other| is_same(word, other));
        place.map(|place| left.swap_remove(place)).is_some()
    })
}

/// Returns true if two words are equal, or one is a shortened version: 24.04 matches 24.04.1.
fn is_same(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the words of a text that distinguish parts or versions, longest first.
fn significant_words(text: &str) -> Vec<String> {
    // A processor's name repeats its cores and its frequency, which have their own fields.
    let text = text.split(" @ ").next().unwrap_or_default();
    let is_cores = |word: &&str| word.to_lowercase().ends_with("-core");
    let words: Vec<_> = text.split_whitespace().filter(|word| !is_cores(word)).collect();
    let mut words = split_words(&words.join(" "));
    words.retain(|word| COMMON.split(' ').all(|common| common != word));
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words
}

/// Splits a text into words in lower case. A unit is a separate word; a dot in a number belongs to
/// the number.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    let mut all = Vec::new();
    for word in text.split(|c: char| !is_part(c)) {
        let word = word.trim_matches('.').to_lowercase();
        // `Gen5` equals `5.0`, and `80GB` equals `80 GB`.
        let word =
            word.strip_prefix("gen").filter(|rest| rest.parse::<f64>().is_ok()).unwrap_or(&word);
        let end = word.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |end| end + 1);
        let (number, unit) = word.split_at(end);
        let is_amount =
            ["kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "mhz", "ghz"].contains(&unit);
        let words = if is_amount { [number, unit] } else { [word, ""] };
        all.extend(words.into_iter().filter(|word| !word.is_empty()).map(str::to_owned));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_people_write_them() {
        let cores = "host_processor_core_count";
        for stated in ["96", "96, of each processor", "96 (192 in each node)"] {
            assert!(!contradicts(cores, stated, "96"), "{stated}");
        }
        for stated in ["192", "many", "2 x 96"] {
            assert!(contradicts(cores, stated, "96"), "{stated}");
        }
        let seen = "8 (4 to each of 2 nodes, 2 streams on each)";
        for stated in ["8", "8 (4 to each)", seen] {
            assert!(!contradicts("number_connections", stated, seen), "{stated}");
        }
        for stated in ["2", "8 (4 to each of 2 nodes, 4 streams on each)", "8 / 16"] {
            assert!(contradicts("number_connections", stated, seen), "{stated}");
        }
        assert!(!contradicts("number_connections", "16 / 8", "8 (4 to each) / 16 (8 to each)"));
    }

    #[test]
    fn amounts_are_compared_in_either_units() {
        let memory = "host_memory_capacity";
        for stated in ["1511 GiB", "1.5 TB", "1.5TiB", "24 x 64 GB", "1536 GB (24 x 64 GB)"] {
            assert!(!contradicts(memory, stated, "1511 GiB"), "{stated}");
        }
        for stated in ["3 TB", "1.2 TB", "64 GB", "much", "1511"] {
            assert!(contradicts(memory, stated, "1511 GiB"), "{stated}");
        }
        assert!(!contradicts("accelerator_memory_capacity", "80 GB HBM3", "79.6 GiB"));
        assert!(contradicts("accelerator_memory_capacity", "141 GB", "79.6 GiB"));
        assert!(contradicts("accelerator_memory_capacity", "80 GB", "none"));
        let frequency = "host_processor_frequency";
        assert!(!contradicts(frequency, "2.4 GHz, 3.7 GHz at most", "up to 3707 MHz"));
        assert!(contradicts(frequency, "5 GHz", "up to 3707 MHz"));
    }

    #[test]
    fn names_may_say_less_or_more_and_nothing_else() {
        let same = [
            ("EPYC 9654", "AMD EPYC 9654 96-Core Processor"),
            ("AMD EPYC 9654 (Genoa), 2.4 GHz", "AMD EPYC 9654 96-Core Processor"),
            ("Intel Xeon E5-2680 v4", "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz"),
            ("A100-SXM4 80 GB", "NVIDIA A100-SXM4-80GB"),
            ("Ubuntu 24.04", "Ubuntu 24.04.1 LTS"),
            ("PCIe Gen5 x16", "PCIe 5.0 x16"),
            ("libtorch 2.11.0, CUDA 12.8", "libtorch 2.11.0 (CUDA 12.8)"),
            (
                "Linux 6.8 TCP, mlx5_core",
                "Linux 6.8.0-45-generic, mlx5_core (firmware 22.39), sut-node 0.1.0",
            ),
            ("None", "none"),
            ("A100 / H100", "NVIDIA H100 / NVIDIA A100"),
            ("anything", " "),
        ];
        for (stated, seen) in same {
            assert!(!contradicts("x", stated, seen), "{stated} is not {seen}");
        }
        let different = [
            ("EPYC 9754", "AMD EPYC 9654 96-Core Processor"),
            ("AMD EPYC", "AMD EPYC 9654 96-Core Processor"),
            ("Intel Xeon 9654", "AMD EPYC 9654 96-Core Processor"),
            ("NVIDIA H100 SXM", "NVIDIA H100 PCIe"),
            ("NVIDIA A100 PCIe", "NVIDIA H100 PCIe"),
            ("Ubuntu 22.04.1 LTS", "Ubuntu 24.04.1 LTS"),
            ("2 x BCM5720, 1 x ConnectX-6 Dx", "1 x BCM5720, 1 x ConnectX-6 Dx"),
            ("ConnectX-6 Lx", "ConnectX-6 Dx"),
            ("Linux 6.8.0-45-generic, bnxt_en", "Linux 6.8.0-45-generic, mlx5_core"),
            ("H100", "none"),
            ("NVIDIA H100", "NVIDIA H100 / NVIDIA A100"),
            ("", "Ubuntu 24.04.1 LTS"),
        ];
        for (stated, seen) in different {
            assert!(contradicts("x", stated, seen), "{stated} is {seen}");
        }
    }

    #[test]
    fn versions_of_a_protocol_are_compared() {
        let seen = "gRPC over HTTP/2 over TLS 1.3 over TCP over IPv4";
        for stated in [seen, "gRPC, TLS 1.3, IPv4", "TLS over IP"] {
            assert!(!has_other_numbers(stated, seen), "{stated}");
        }
        assert!(has_other_numbers("gRPC over HTTP/3 over TLS 1.3 over TCP over IPv4", seen));
    }
}
