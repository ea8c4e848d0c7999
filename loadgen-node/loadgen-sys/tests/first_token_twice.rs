//! Tests two first tokens of one sample. Each case has its own file, because LoadGen exists once
//! per process.

mod common;

use common::{Library, answer_in_background_with};
use loadgen_sys::{LogSettings, Mode, Sample, Scenario, TestSettings, first_token, start_test};

#[test]
fn a_second_first_token_ends_the_test_and_does_not_reach_loadgen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let twice = |sample: &mut Sample| {
        for _ in 0..2 {
            first_token(&mut sample.response_id, &[0; 4]);
        }
    };
    let (queue, _answering) = answer_in_background_with(twice);
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let mut settings = TestSettings::new(Scenario::SingleStream, Mode::Accuracy);
    settings.set("use_token_latencies", "true").expect("a setting of LoadGen");
    let error = start_test(&queue, &Library, &settings, &log, None).expect_err("it has to end");
    assert!(error.to_string().contains("a second first token"), "{error}");
}
