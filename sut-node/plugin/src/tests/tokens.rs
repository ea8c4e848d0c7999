//! Tests of language models with a plug-in in this process (`fake_tokens.rs`), which misbehaves.

use std::ptr;

use super::{
    fake::{self, FAULT, Fault, calls},
    fake_tokens::{self, COUNT, SCRIPT, SLOTS, event},
    plugin,
};
use crate::{
    Plugin, PluginError, PluginTokenInstance, PluginTokenSettings, Precision, StepEvent,
    abi::{self, Engine, TokenEngine},
};

pub(super) fn settings() -> PluginTokenSettings {
    PluginTokenSettings {
        path: "model.x".into(),
        device: "fake:0".into(),
        precision: Precision::Bf16,
        threads: 1,
        vocabulary: 100,
        longest_prompt: 10,
        longest_output: 5,
        slots: 4,
        chunk: 4,
        cache_bytes: 0,
        beams: 1,
        ends: vec![2, 3],
    }
}

/// Opens a fake plug-in with these functions for language models, and no functions for other
/// models.
fn with(tokens: TokenEngine) -> Result<Plugin, PluginError> {
    SLOTS.set(3);
    SCRIPT.take();
    COUNT.take();
    let tokens: *const _ = Box::leak(Box::new(tokens));
    let none = Engine {
        load: None,
        unload: None,
        open: None,
        close: None,
        in_flight: None,
        allocate: None,
        release: None,
        warm_up: None,
        begin: None,
        finish: None,
        ..fake::table()
    };
    plugin(Engine { tokens, ..none })
}

fn instance() -> PluginTokenInstance {
    with(fake_tokens::table()).unwrap().load_tokens(settings()).unwrap().open().unwrap()
}

#[test]
fn a_table_of_another_size_and_missing_functions_are_named() {
    let whole = fake_tokens::table();
    for (table, what) in [
        (TokenEngine { size: 8, ..whole }, "netdiv_token_engine"),
        (TokenEngine { event_size: 8, ..whole }, "netdiv_token_event"),
    ] {
        let error = with(table).unwrap_err();
        assert!(error.to_string().contains(&format!("its {what} has")), "{error}");
    }
    for (table, missing) in [
        (TokenEngine { load: None, ..whole }, "tokens.load"),
        (TokenEngine { cancel: None, ..whole }, "tokens.cancel"),
    ] {
        let error = with(table).unwrap_err().to_string();
        assert!(error.contains(&format!("its `{missing}` is null")), "{error}");
    }
}

#[test]
fn a_plugin_has_functions_for_tensors_or_for_tokens_or_both() {
    let tokens_alone = with(fake_tokens::table()).unwrap();
    assert!(tokens_alone.load_tokens(settings()).is_ok());
    let error = tokens_alone.load(super::settings()).unwrap_err().to_string();
    assert!(error.starts_with("the plug-in fake supports only language models"), "{error}");
    let tensors_alone = plugin(fake::table()).unwrap();
    let error = tensors_alone.load_tokens(settings()).unwrap_err().to_string();
    assert!(error.starts_with("the plug-in fake does not support language models"), "{error}");
    let tokens: *const _ = Box::leak(Box::new(fake_tokens::table()));
    let both = plugin(Engine { tokens, ..fake::table() }).unwrap();
    assert!(both.load(super::settings()).is_ok() && both.load_tokens(settings()).is_ok());
    // A table with some of the functions for tensors lacks the others by mistake.
    let error = plugin(Engine { tokens, begin: None, ..fake::table() }).unwrap_err().to_string();
    assert!(error.contains("its `begin` is null"), "{error}");
}

#[test]
fn a_model_gets_its_settings_and_can_read_them_until_it_is_unloaded() {
    let model = with(fake_tokens::table()).unwrap().load_tokens(settings()).unwrap();
    let instance = model.open().unwrap();
    assert_eq!((instance.room().slots, instance.room().cache_bytes), (3, 7));
    drop(model);
    drop(instance);
    let said = "model.x fake:0 bf16 4 slots, ends [2, 3]";
    assert_eq!(calls(), [format!("load {said}"), "close".into(), format!("unload {said}")]);
}

#[test]
fn success_that_gives_nothing_and_a_room_that_cannot_be_are_errors() {
    let plugin = with(fake_tokens::table()).unwrap();
    let model = plugin.load_tokens(settings()).unwrap();
    for slots in [0, 5, u32::MAX] {
        SLOTS.set(slots);
        let error = model.open().unwrap_err().to_string();
        let words = format!("open returned room for {slots} samples; the node requested 1 to 4");
        assert!(error.contains(&words), "{error}");
        assert_eq!(calls().last().map(String::as_str), Some("close"));
    }
    FAULT.set(Fault::GivesNull);
    for error in [plugin.load_tokens(settings()).unwrap_err(), model.open().unwrap_err()] {
        assert!(error.to_string().contains("returned neither"), "{error}");
    }
}

#[test]
fn samples_get_slots_and_their_ids_come_by_number() {
    let mut instance = instance();
    instance.warm_up().unwrap();
    let numbers: Vec<_> =
        (0..3).map(|n| instance.submit(&[n, 9], 1, 5).expect("there is room")).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(calls()[2..], ["submit 0 [0, 9] 1-5", "submit 1 [1, 9] 1-5", "submit 2 [2, 9] 1-5"]);
    let error = instance.submit(&[1], 1, 5).unwrap_err().to_string();
    assert_eq!((error.as_str(), calls().len()), ("no slot is free", 0));
    SCRIPT.set(vec![event(2, &[50], 0), event(0, &[2], 1)]);
    let events = instance.step().unwrap();
    let ids = |sample, ids, is_last| StepEvent { sample, ids, is_last };
    assert_eq!(events, [ids(2, &[50], false), ids(0, &[2], true)]);
    assert_eq!(instance.step().unwrap(), [], "a step may have no events");
    assert_eq!(instance.submit(&[3], 1, 5).unwrap(), 3, "no number is used twice");
    // An end may accompany ids, or follow them.
    SCRIPT.set(vec![event(2, &[51, 3], 0), event(1, &[4, 5, 6, 7, 8], 1)]);
    assert_eq!(instance.step().unwrap().len(), 2);
    SCRIPT.set(vec![event(2, &[], 1)]);
    assert_eq!(instance.step().unwrap(), [ids(2, &[], true)]);
    calls();
    instance.cancel(2);
    instance.cancel(7);
    assert_eq!(calls(), Vec::<String>::new(), "they have ended");
    instance.cancel_all();
    assert_eq!(calls(), ["cancel 3"]);
}

#[test]
fn every_event_that_the_header_does_not_allow_is_named_and_none_of_its_step_is_given() {
    let null = abi::TokenEvent { ids: ptr::null(), ..event(0, &[5], 0) };
    let odd = abi::TokenEvent { ids: ptr::without_provenance(7), ..event(0, &[5], 0) };
    let long = abi::TokenEvent { count: u32::MAX, ..event(0, &[5], 0) };
    let good = || event(1, &[5], 0);
    // Events of two steps; the second step is invalid.
    for (first, second, words) in [
        (vec![], vec![event(9, &[5], 0)], "sample 9: an event, but the sample is not in flight"),
        (vec![event(0, &[5, 2], 1)], vec![event(0, &[5], 0)], "sample 0: an event, but"),
        (vec![], vec![event(0, &[5], 0), event(0, &[5], 0)], "sample 0: two events in one step"),
        (vec![], vec![event(0, &[5, 2], 1), event(0, &[], 1)], "sample 0: an event, but"),
        (vec![], vec![event(0, &[100], 0)], "the id 100; ids go from 0 to 99"),
        (vec![], vec![event(0, &[-1], 0)], "the id -1; ids go from 0 to 99"),
        (vec![event(0, &[5, 5, 5], 0)], vec![event(0, &[5, 5, 5], 0)], "3 ids after 3, but"),
        (vec![], vec![long], "4294967295 ids after 0, but at most 5 are allowed"),
        (vec![], vec![null], "ids at an invalid address"),
        (vec![], vec![odd], "ids at an invalid address"),
        (vec![], vec![event(0, &[2], 1)], "an end at id 1, before the minimum of 2 ids"),
        (vec![], vec![event(0, &[5], 1)], "an end at length 1, before the minimum of 2"),
        (vec![], vec![event(0, &[5, 5, 5], 1)], "an end at length 3 of 5, without an id"),
        (vec![], vec![event(0, &[5, 2, 5], 0)], "ids after an id that ends the output"),
        (vec![event(0, &[5, 2], 0)], vec![event(0, &[5], 0)], "ids after an id that ends"),
    ] {
        let mut instance = instance();
        instance.submit(&[1], 2, 5).unwrap();
        instance.submit(&[1], 2, 5).unwrap();
        SCRIPT.set(first);
        instance.step().unwrap();
        SCRIPT.set([vec![good()], second].concat());
        let error = instance.step().unwrap_err().to_string();
        assert!(error.starts_with("the plug-in fake violates netdiv_engine.h"), "{error}");
        assert!(error.contains(words), "{words}: {error}");
    }
    let mut instance = instance();
    COUNT.set(Some(4));
    let error = instance.step().unwrap_err().to_string();
    assert!(error.contains("a step returned 4 events, but there is room for 3"), "{error}");
}

#[test]
fn every_call_can_fail() {
    let plugin = with(fake_tokens::table()).unwrap();
    let model = plugin.load_tokens(settings()).unwrap();
    let mut instance = model.open().unwrap();
    FAULT.set(Fault::Fails(abi::OUT_OF_MEMORY, "full\0"));
    let full = |error| matches!(error, PluginError::OutOfMemory(text) if text == "full");
    assert!(full(plugin.load_tokens(settings()).unwrap_err()));
    assert!(full(model.open().unwrap_err()));
    assert!(full(instance.warm_up().unwrap_err()));
    assert!(full(instance.submit(&[1], 1, 5).unwrap_err()));
    assert!(full(instance.step().unwrap_err()));
    let zero = PluginTokenSettings { path: "a\0b".into(), ..settings() };
    let error = plugin.load_tokens(zero).unwrap_err().to_string();
    assert!(error.contains("holds a zero byte"), "{error}");
}
