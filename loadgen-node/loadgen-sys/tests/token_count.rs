//! Tests a number of tokens that is not that of the response's bytes. Each case has its own file,
//! because LoadGen exists once per process.

mod common;

use loadgen_sys::{Sample, Scenario};

#[test]
fn loadgen_logs_the_number_of_tokens_that_was_set() {
    let set = |sample: &mut Sample| sample.response_id.set_token_count(2 + sample.index as u32);
    let [accuracy, detail] = common::token_logs(Scenario::Offline, set);
    for index in 0..100 {
        let entry = format!("\"data\" : \"{index:02X}000000\", \"token_count\" : {}", 2 + index);
        assert_eq!(accuracy.matches(&entry).count(), 1, "{entry} in {accuracy}");
    }
    assert!(!detail.contains("\"is_error\": true"));
}
