//! Replies of a node to every call but Infer, as the LoadGen node reads them.

use netdiv_contract::{
    is_name,
    layout::{accepts, describe},
    tally::Tally,
    v1::{CallStatus, DescribeResponse, DigestsResponse, FlushResponse, Machine},
};
use prost::Message;

/// Reads a reply; its first byte chooses the call.
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

/// Reads a message. A message that was read can be sent, and then reads as the same message.
fn message<M: Message + Default + PartialEq + std::fmt::Debug>(data: &[u8]) -> Option<M> {
    let message = M::decode(data).ok()?;
    assert_eq!(M::decode(&message.encode_to_vec()[..]).ok().as_ref(), Some(&message));
    Some(message)
}

/// Writes and reads the description of a node's machine, as `result.json` and a submission do.
fn written_and_read(machine: &Machine) {
    let read = serde_json::to_string(machine)
        .and_then(|text| serde_json::from_str::<Machine>(&text))
        .map_err(|error| error.to_string());
    assert_eq!(read.as_ref(), Ok(machine));
}
