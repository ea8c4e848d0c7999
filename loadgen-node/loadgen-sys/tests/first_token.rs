//! Tests a first token before each response. Each case has its own file, because LoadGen exists
//! once per process.

mod common;

use loadgen_sys::{Sample, Scenario, first_token};

#[test]
fn loadgen_is_told_of_each_first_token_before_the_answer() {
    let tell = |sample: &mut Sample| {
        let token = [sample.index as u8, 0xAB];
        first_token(&mut sample.response_id, &token);
    };
    let [accuracy, detail] = common::token_logs(Scenario::SingleStream, tell);
    for index in 0..100 {
        let entry = format!(
            "\"data\" : \"{index:02X}000000\", \"token_data\" : \"{index:02X}AB\", \"token_count\" : 1"
        );
        assert_eq!(accuracy.matches(&entry).count(), 1, "{entry} in {accuracy}");
    }
    assert!(!detail.contains("first token latency"), "each in its place: {detail}");
}
