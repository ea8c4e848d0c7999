//! Validity of a node's description of itself. The node checks it at the start, a LoadGen node when
//! it connects.

use netdiv_node_common::sanitise::{is_plain, sanitise};

use crate::{
    limits::{MAX_BATCH, MAX_ERROR_BYTES, MAX_PAYLOAD_BYTES},
    v1::DescribeResponse,
};

/// Number of possible token ids: non-negative values of an int32.
pub const MAX_IDS: u32 = 1 << 31;

/// Returns the fault of a node's description for which LoadGen nodes refuse the node; `None` if the
/// description is valid.
pub fn description_fault(description: &DescribeResponse) -> Option<String> {
    let d = description;
    let max_u32 = u64::from(u32::MAX);
    for (limit, value, allowed) in [
        ("max_payload_bytes", d.max_payload_bytes, 1..=MAX_PAYLOAD_BYTES as u64),
        ("max_in_flight_samples", d.max_in_flight_samples.into(), 1..=max_u32),
        ("max_in_flight_bytes", d.max_in_flight_bytes, 1..=max_u32),
        ("max_batch", d.max_batch.into(), 1..=MAX_BATCH as u64),
        ("vocabulary", d.vocabulary.into(), 0..=MAX_IDS.into()),
    ] {
        if !allowed.contains(&value) {
            let (minimum, maximum) = allowed.into_inner();
            return Some(format!("its {limit} is {value}; expected {minimum} to {maximum}"));
        }
    }
    let (room, output) = (d.max_in_flight_tokens, d.max_output_tokens);
    if room > 0 && !(1..room).contains(&output) {
        return Some(format!(
            "its max_output_tokens is {output}, and its max_in_flight_tokens {room}"
        ));
    }
    if d.tokens && d.token_counts {
        return Some("it sends token ids (tokens), and announces token_counts, too".into());
    }
    let ids = if d.vocabulary > 0 { d.vocabulary } else { MAX_IDS };
    if let Some(end) = d.end_tokens.iter().find(|end| **end >= ids) {
        return Some(format!("its end_tokens have {end}, and its ids go from 0 to {}", ids - 1));
    }
    names_fault(d)
}

/// Returns the fault of a description's texts for which LoadGen nodes refuse the node; `None` if the
/// texts are valid. Does not check the node's own name, which [`is_name`](crate::is_name) checks.
pub fn names_fault(description: &DescribeResponse) -> Option<String> {
    let d = description;
    for (what, name) in [("engine", &d.engine), ("model", &d.model_name)] {
        if name.trim().is_empty() {
            return Some(format!("its {what} has no name"));
        }
    }
    let tensors = d.input.iter().flat_map(|input| &input.tensors);
    let texts = [
        &d.software_version,
        &d.engine,
        &d.model_name,
        &d.model_sha256,
        &d.config_sha256,
        &d.machine_id,
        &d.host_name,
    ];
    let mut texts = texts.into_iter().chain(tensors.map(|tensor| &tensor.name));
    let wrong = texts.find(|text| text.len() > MAX_ERROR_BYTES || !is_plain(text))?;
    Some(format!("it contains `{}`, which is not a short plain text", sanitise(wrong)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Function that changes a node's description.
    type Change = fn(&mut DescribeResponse);

    #[test]
    fn what_no_node_says_of_itself_is_refused_with_the_figure() {
        let good = DescribeResponse {
            engine: "onnx".into(),
            model_name: "digits".into(),
            max_payload_bytes: 1,
            max_in_flight_samples: u32::MAX,
            max_in_flight_bytes: u32::MAX.into(),
            max_batch: 1,
            ..DescribeResponse::default()
        };
        assert_eq!(description_fault(&good), None);
        let cases: [(Change, &str); 15] = [
            (|d| d.max_batch = 0, "its max_batch is 0; expected 1 to 65536"),
            (|d| d.max_batch = u32::MAX, "its max_batch is 4294967295; expected 1 to 65536"),
            (|d| d.max_payload_bytes = 0, "its max_payload_bytes is 0; expected 1 to 268435456"),
            (|d| d.max_payload_bytes = u64::MAX, "its max_payload_bytes is 18446744073709551615"),
            (|d| d.max_in_flight_samples = 0, "its max_in_flight_samples is 0; expected 1"),
            (|d| d.max_in_flight_bytes = 0, "its max_in_flight_bytes is 0; expected 1"),
            (|d| d.max_in_flight_bytes = u64::MAX, "its max_in_flight_bytes is 184467"),
            (|d| d.vocabulary = u32::MAX, "its vocabulary is 4294967295; expected 0 to 2147483648"),
            (|d| d.end_tokens = vec![2, 1 << 31], "its end_tokens have 2147483648, and its ids go"),
            (
                |d| (d.vocabulary, d.end_tokens) = (9, vec![9]),
                "its end_tokens have 9, and its ids go from 0 to 8",
            ),
            (|d| (d.tokens, d.token_counts) = (true, true), "and announces token_counts, too"),
            (|d| d.max_in_flight_tokens = 9, "its max_output_tokens is 0, and its max_in_flight_"),
            (|d| d.engine = String::new(), "its engine has no name"),
            (|d| d.model_name = " ".into(), "its model has no name"),
            (|d| d.host_name = "\u{1b}[2J".into(), "which is not a short plain text"),
        ];
        for (change, words) in cases {
            let mut said = good.clone();
            change(&mut said);
            let why = description_fault(&said).unwrap();
            assert!(why.contains(words), "{why}");
        }
    }
}
