//! What is stated must not contradict what was seen.

use std::collections::BTreeSet;

use super::{cable::Cable, problems::Problems};
use crate::facts::rate::bits_per_second;

/// Numbers that the evidence has, too.
const NUMBERS: [&str; 4] = [
    "number_of_nodes",
    "accelerators_per_node",
    "host_processors_per_node",
    "host_processor_core_count",
];

/// Words of a processor's name that tell no processor from another.
const COMMON: [&str; 10] =
    ["cpu", "processor", "processors", "core", "cores", "r", "tm", "with", "the", "x"];

/// Rates are written with few digits.
const TOLERANCE: f64 = 1.02;

/// Why a field of the description cannot be true, where the machines say `derived` of it.
pub(super) fn contradiction(name: &str, stated: &str, derived: &str) -> Option<String> {
    let number = |text: &str| -> Option<u64> {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let differs = match name {
        _ if NUMBERS.contains(&name) => {
            number(stated).zip(number(derived)).is_some_and(|(stated, seen)| stated != seen)
        }
        "host_processor_model_name" => {
            let (stated, seen) = (significant(stated), significant(derived));
            !seen.is_empty() && stated.is_disjoint(&seen)
        }
        _ => false,
    };
    let what = match name {
        "number_of_nodes" => "the runs had".to_owned(),
        "host_processor_core_count" => "of each processor the machines' evidence has".into(),
        _ => "the machines' evidence has".into(),
    };
    differs.then(|| format!("[system] {name} is {stated}, and {what} {derived}; write that"))
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

fn significant(name: &str) -> BTreeSet<String> {
    words(name).filter(|word| !COMMON.contains(&word.as_str())).collect()
}

/// Data types in a text, each by one name.
fn types(text: &str) -> BTreeSet<String> {
    let one = |word: String| match word.as_str() {
        "fp16" | "half" => Some("float16".to_owned()),
        "fp32" | "float" => Some("float32".into()),
        "fp64" | "double" => Some("float64".into()),
        "bf16" => Some("bfloat16".into()),
        "uint8" | "int8" | "int16" | "int32" | "int64" | "float16" | "float32" | "float64"
        | "bfloat16" => Some(word),
        _ => None,
    };
    words(text).filter_map(one).collect()
}

/// Says when `input_data_types` leaves out a type that samples had. What is no type, such as JPEG, is not compared.
pub(super) fn input_types(name: &str, stated: &str, recorded: &[String], problems: &mut Problems) {
    let (said, sent) = (types(stated), types(&recorded.join(" ")));
    if !said.is_empty() && !sent.is_subset(&said) {
        problems.fault(format!(
            "[[result]] {name}: input_data_types is {stated}, and the samples of its runs were {}; write that",
            recorded.join(" + ")
        ));
    }
}

/// Says when the network is faster than every link.
pub(super) fn network_rate(stated: &str, cables: &[Cable<'_>], problems: &mut Problems) {
    let links: Option<Vec<_>> =
        cables.iter().map(|cable| bits_per_second(&cable.link.rate)).collect();
    let fastest = links.unwrap_or_default().into_iter().fold(0.0, f64::max);
    let is_above =
        |rate: &str| bits_per_second(rate).is_some_and(|rate| rate > fastest * TOLERANCE);
    if fastest > 0.0 && stated.split(" / ").any(is_above) {
        problems.fault(format!(
            "[system] network_rate is {stated}, and no [[topology.link]] has that rate; write what the links carry"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_compared_as_people_write_them() {
        let cores = "host_processor_core_count";
        assert_eq!(contradiction(cores, "96, of each processor", "96"), None);
        let wrong = contradiction(cores, "192", "96").unwrap_or_default();
        assert!(wrong.contains("of each processor the machines' evidence has 96"), "{wrong}");
        assert_eq!(contradiction(cores, "many", "96"), None);
        assert!(contradiction("accelerators_per_node", "8", "0").is_some());
        let name = "host_processor_model_name";
        let seen = "AMD EPYC 9654 96-Core Processor";
        assert_eq!(contradiction(name, "EPYC 9654", seen), None);
        assert!(contradiction(name, "Intel Xeon Processor", seen).is_some());
        assert_eq!(contradiction("cooling", "air", "liquid"), None);
    }

    #[test]
    fn types_are_compared_loosely() {
        let wrong = |stated: &str, recorded: &[&str]| {
            let mut problems = Problems::default();
            let recorded: Vec<_> = recorded.iter().map(|text| (*text).to_owned()).collect();
            input_types("x", stated, &recorded, &mut problems);
            !problems.faults().is_empty()
        };
        assert!(!wrong("fp32", &["float32[3, 224, 224]"]));
        assert!(!wrong("int64", &["input_ids int64 [384]", "mask int64 [384]"]));
        assert!(!wrong("JPEG", &["uint8[3, 224, 224]"]) && !wrong("fp32", &["bytes"]));
        assert!(wrong("fp32", &["image uint8 [3, 224, 224]"]));
    }
}
