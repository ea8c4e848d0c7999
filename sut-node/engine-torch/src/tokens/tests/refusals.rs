//! Tests of refusals: each error states the remedy.

use netdiv_plugin::abi;

use super::driver::{Engine, Settings, ids};

fn refused(model: &str, change: impl FnOnce(&mut Settings)) -> String {
    let mut settings = Settings::of(model);
    change(&mut settings);
    match Engine::open(settings) {
        Ok(_) => panic!("not refused"),
        Err((status, why)) => {
            assert_eq!(status, abi::REFUSED, "{why}");
            why
        }
    }
}

#[test]
fn a_model_that_does_not_fit_its_manifest_is_refused() {
    type Change = fn(&mut Settings);
    let cases: [(Change, &str); 8] = [
        (|it| it.raw.vocabulary = 64, "says vocabulary = 64, but the model has 128"),
        (|it| it.precision = "fp16", "the manifest says fp16, but the weight"),
        (|it| it.precision = "fp8", "the precision fp8 is unknown"),
        (|it| it.device = "tpu:0", "tpu:0"),
        (|it| it.file = it.file.with_file_name("bert.pt"), "export_language_model.py"),
        (|it| it.file = it.file.with_file_name("tiny-llama.toml"), "tiny-llama.toml"),
        (|it| it.file = it.file.with_extension("pt2"), "cannot load the package"),
        (|it| it.raw.cache_bytes = 100, "no room for one sample"),
    ];
    for (change, why) in cases {
        let said = refused("tiny-llama", change);
        assert!(said.contains(why), "{said}");
    }
    let size = refused("tiny-llama", |it| it.raw.size = 8);
    assert!(size.contains("an unexpected size"), "{size}");
}

#[test]
fn fewer_bytes_of_cache_are_fewer_slots() {
    let whole = Engine::of("tiny-gptj").room;
    assert_eq!(whole.slots, 32);
    let most = whole.cache_bytes / 2 + 1;
    let half = Engine::with("tiny-gptj", |it| it.raw.cache_bytes = most).room;
    assert_eq!((half.slots, half.cache_bytes), (16, whole.cache_bytes / 2));
}

#[test]
fn a_sample_that_breaks_the_settings_is_refused_and_the_others_go_on() {
    let prompts = ids("tiny-llama-prompts.ids");
    let outputs = ids("tiny-llama-outputs.ids");
    let mut engine = Engine::with("tiny-llama", |it| it.raw.slots = 2);
    engine.submit(0, &prompts[0], 4, 40).unwrap();
    let long = [9; 65];
    for (ids, least, most, why) in [
        (&[][..], 1, 4, "the prompt has the length 0; it must have 1 to 64"),
        (&long, 1, 4, "the prompt has the length 65"),
        (&[7, 128], 1, 4, "each from 0 to 127"),
        (&[-1], 1, 4, "each from 0 to 127"),
        (&[7], 0, 4, "an output of 0 to 4 ids"),
        (&[7], 5, 4, "an output of 5 to 4 ids"),
        (&[7], 1, 41, "not within 1 to 40"),
    ] {
        let (status, said) = engine.submit(1, ids, least, most).unwrap_err();
        assert_eq!(status, abi::REFUSED);
        assert!(said.contains(why), "{said}");
    }
    engine.submit(1, &prompts[1], 4, 40).unwrap();
    let full = engine.submit(2, &prompts[2], 4, 40).unwrap_err().1;
    assert!(full.contains("no slot of 2 is free"), "{full}");
    engine.cancel(77);
    let given = engine.finish(2);
    assert_eq!((&given[&0], &given[&1]), (&outputs[0], &outputs[1]));
    assert!(engine.step().unwrap().is_empty(), "nothing is under way");
}
