//! What a node answers to everything but samples, as the LoadGen node reads it.

use netdiv_contract::{
    is_name,
    layout::{accepts, describe},
    tally::Tally,
    v1::{CallStatus, DescribeResponse, DigestsResponse, FlushResponse, Machine},
};
use prost::Message;

/// The first byte says of which call.
pub(crate) fn answers(data: &[u8]) {
    let Some((call, answer)) = data.split_first() else { return };
    match call % 4 {
        0 => {
            if let Some(description) = message::<DescribeResponse>(answer) {
                is_name(&description.node_name);
                let input = description.input.unwrap_or_default();
                describe(&input);
                assert!(accepts(&input, &input));
                description.machine.iter().for_each(written_and_read);
            }
        }
        1 => {
            let Some(digests) = message::<DigestsResponse>(answer) else { return };
            let (mut one, mut two) = (Tally::default(), Tally::default());
            if one.add_entries(&digests.entries).is_ok() {
                assert!(one.distinct() <= digests.entries.len());
                assert!(two.add_entries(&digests.entries).is_ok());
                assert_eq!((one.sorted(), one.total()), (two.sorted(), two.total()));
                one.join(two);
            }
        }
        2 => drop(message::<FlushResponse>(answer)),
        _ => drop(message::<CallStatus>(answer)),
    }
}

/// A message; what was read can be sent, and is then read as the same.
fn message<M: Message + Default + PartialEq + std::fmt::Debug>(data: &[u8]) -> Option<M> {
    let message = M::decode(data).ok()?;
    assert_eq!(M::decode(&message.encode_to_vec()[..]).ok().as_ref(), Some(&message));
    Some(message)
}

/// What a node says of its machine goes into `result.json`, and is read from there for a submission.
fn written_and_read(machine: &Machine) {
    let read = serde_json::to_string(machine)
        .and_then(|text| serde_json::from_str::<Machine>(&text))
        .map_err(|error| error.to_string());
    assert_eq!(read.as_ref(), Ok(machine));
}
