//! Tests of tables, models, instances and memory with a plug-in in this process (`fake.rs`), which
//! misbehaves.

mod fake;
mod fake_tokens;
mod tokens;

use std::{path::Path, ptr};

use fake::{FAULT, Fault, GATE, IN_FLIGHT, TABLE, calls};
use netdiv_contract::layout::{DataType, TensorSpec};

use crate::{
    Batch, DeviceInfo, Plugin, PluginError, PluginInstance, PluginModel, PluginModelSettings,
    PluginTensor, Precision,
    abi::{self, Engine},
};

/// Opens the fake plug-in with this table, which stays set for this thread.
fn plugin(table: Engine) -> Result<Plugin, PluginError> {
    // Tests may share a thread.
    FAULT.set(Fault::None);
    IN_FLIGHT.set(2);
    calls();
    TABLE.set(Box::leak(Box::new(table)));
    // SAFETY: the table lives for ever.
    unsafe { Plugin::from_entry(Path::new("fake.so"), fake::entry) }
}

fn settings() -> PluginModelSettings {
    let numbers = TensorSpec {
        name: "numbers".into(),
        data_type: DataType::Float32 as i32,
        shape: vec![3, -1],
    };
    PluginModelSettings {
        path: "model.x".into(),
        device: "fake:0".into(),
        precision: Precision::Tf32,
        threads: 1,
        fixed_shapes: false,
        inputs: vec![numbers.clone()],
        outputs: vec![numbers],
    }
}

fn model() -> PluginModel {
    plugin(fake::table()).unwrap().load(settings()).unwrap()
}

fn tensor(instance: &PluginInstance) -> PluginTensor {
    instance.tensor(DataType::Uint8, &[1, 4]).unwrap()
}

fn batch(instance: &PluginInstance) -> Batch {
    Batch { inputs: vec![tensor(instance)], outputs: vec![tensor(instance)] }
}

#[test]
fn another_abi_is_refused_and_the_older_side_is_named() {
    for (theirs, older) in [(2, "rebuild the plug-in"), (4, "rebuild the node")] {
        // With another version, only the first number is read.
        let error = plugin(Engine { abi: theirs, size: 0, ..fake::table() }).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(&format!("fake.so has the plug-in ABI {theirs}")), "{error}");
        assert!(error.ends_with(older), "{error}");
    }
}

#[test]
fn another_size_is_refused() {
    let table = fake::table();
    for (table, what) in [
        (Engine { size: table.size - 8, ..table }, "table"),
        (Engine { tensor_size: table.tensor_size + 8, ..table }, "netdiv_tensor"),
    ] {
        let error = plugin(table).unwrap_err();
        assert!(error.to_string().contains(&format!("its {what} has")), "{error}");
    }
}

#[test]
fn no_table_and_a_missing_function_are_named() {
    TABLE.set(ptr::null());
    // SAFETY: a plug-in may return null.
    let none = unsafe { Plugin::from_entry(Path::new("fake.so"), fake::entry) }.unwrap_err();
    assert!(none.to_string().contains("its `netdiv_engine_plugin` is null"), "{none}");
    let whole = fake::table();
    for (table, missing) in [
        (Engine { devices: None, ..whole }, "devices"),
        (Engine { load: None, ..whole }, "load"),
        (Engine { finish: None, ..whole }, "finish"),
    ] {
        let error = plugin(table).unwrap_err().to_string();
        assert!(error.contains(&format!("its `{missing}` is null")), "{missing}: {error}");
    }
}

#[test]
fn names_that_are_null_or_not_utf8_are_taken() {
    let plugin_of = |name| plugin(Engine { name, ..fake::table() }).unwrap();
    assert_eq!(plugin_of(ptr::null()).name(), "");
    assert_eq!(plugin_of(c"a\xffb".as_ptr()).name(), "a\u{fffd}b");
    assert_eq!(plugin_of(c"fake".as_ptr()).version(), "fake 1");
}

#[test]
fn devices_are_as_many_as_there_is_room_for_and_their_names_end() {
    let devices = plugin(fake::table()).unwrap().devices().unwrap();
    // The fake states four billion devices.
    assert_eq!(devices.len(), 64);
    let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names[..3], ["x".repeat(32).as_str(), "a\u{fffd}", ""]);
    let usable = |device: &DeviceInfo| device.usable;
    assert_eq!(devices.iter().map(usable).collect::<Vec<_>>()[..4], [false, true, false, true]);
    let stalling: Vec<_> = devices.iter().map(|device| device.new_sizes_stall).collect();
    assert_eq!(stalling[..4], [false, false, true, true]);
}

#[test]
fn every_status_becomes_its_error_with_the_text() {
    let plugin = plugin(fake::table()).unwrap();
    let load = |status, text| {
        FAULT.set(Fault::Fails(status, text));
        plugin.load(settings()).unwrap_err()
    };
    assert!(matches!(load(abi::FAILED, "a"), PluginError::Failed(_)));
    assert!(matches!(load(abi::OUT_OF_MEMORY, "a"), PluginError::OutOfMemory(_)));
    assert!(matches!(load(abi::REFUSED, "a"), PluginError::Refused(_)));
    // A status that is not in the header, and an empty text.
    let unknown = load(9, "").to_string();
    assert_eq!(unknown, "the plug-in states no reason (status 9)");
    // A text without a zero ends with its room.
    let endless = load(abi::FAILED, "endless").to_string();
    assert!(endless.starts_with("endless....") && endless.len() == 4095, "{}", endless.len());
    FAULT.set(Fault::Fails(abi::FAILED, "not \u{e9}\0"));
    assert_eq!(plugin.devices().unwrap_err().to_string(), "not \u{e9}");
    // This is the last check: a plug-in whose device is lost is not called.
    assert!(matches!(load(abi::DEVICE_LOST, "a\0"), PluginError::DeviceLost(_)));
    FAULT.set(Fault::None);
    calls();
    for refused in [plugin.load(settings()).unwrap_err(), plugin.devices().unwrap_err()] {
        assert!(matches!(&refused, PluginError::DeviceLost(why) if why == "a"), "{refused}");
    }
    assert_eq!(calls(), Vec::<String>::new());
}

#[test]
fn success_that_gives_nothing_is_an_error() {
    let plugin = plugin(fake::table()).unwrap();
    let model = plugin.load(settings()).unwrap();
    let instance = model.open().unwrap();
    FAULT.set(Fault::GivesNull);
    let nothing = |what: String| assert!(what.contains("returned neither"), "{what}");
    nothing(plugin.load(settings()).unwrap_err().to_string());
    nothing(model.open().unwrap_err().to_string());
    nothing(instance.tensor(DataType::Uint8, &[4]).unwrap_err().to_string());
    assert_eq!(plugin.devices().unwrap(), []);
}

#[test]
fn a_model_gets_its_settings_and_can_read_them_until_it_is_unloaded() {
    drop(model());
    let said = "model.x fake:0 tf32 numbers[-1, 3, -1]";
    assert_eq!(calls(), [format!("load {said}"), format!("unload {said}")]);
}

#[test]
fn settings_that_c_cannot_hold_are_refused() {
    let plugin = plugin(fake::table()).unwrap();
    let zero = PluginModelSettings { device: "a\0b".into(), ..settings() };
    assert!(plugin.load(zero).unwrap_err().to_string().contains("holds a zero byte"));
    let mut long = settings();
    long.inputs[0].shape = vec![1; 9];
    let error = plugin.load(long).unwrap_err().to_string();
    assert_eq!(error, "numbers has more than 8 dimensions");
    assert_eq!(calls(), Vec::<String>::new());
}

#[test]
fn everything_is_given_back_in_order() {
    let model = model();
    let mut instance = model.open().unwrap();
    let (first, kept) = (batch(&instance), tensor(&instance));
    assert!(instance.begin(1, first).is_ok());
    drop(model);
    calls();
    // The batch in progress is finished before its memory is released.
    drop(instance);
    assert_eq!(calls(), ["finish 1", "release", "release"]);
    // Memory keeps its instance open, and an instance its model loaded.
    assert_eq!((kept.data(), fake::allocated()), (&[0; 4][..], 1));
    drop(kept);
    assert_eq!((calls().len(), fake::allocated()), (3, 0), "release, close, unload");
}

#[test]
fn memory_is_zero_aligned_and_of_the_length_that_was_asked_for() {
    let instance = model().open().unwrap();
    let mut tensor = instance.tensor(DataType::Int64, &[2, 3]).unwrap();
    assert_eq!(tensor.data(), [0; 48]);
    assert_eq!(tensor.data_mut().len(), 48);
    tensor.reshape(&[1, 3]).unwrap();
    assert_eq!((tensor.data().len(), tensor.shape()), (24, &[1, 3][..]));
    assert!(tensor.has_room_for(&[6]) && !tensor.has_room_for(&[7]));
    let long = tensor.reshape(&[7]).unwrap_err().to_string();
    assert_eq!(long, "56 bytes do not fit into a tensor of 48");
    for shape in [&[usize::MAX, 2][..], &[1; 10], &[isize::MAX as usize]] {
        let error = instance.tensor(DataType::Int64, shape).unwrap_err().to_string();
        assert!(error.ends_with("is too long"), "{error}");
    }
    // A tensor without elements still needs its own memory.
    assert!(instance.tensor(DataType::Uint8, &[0]).unwrap().data().is_empty());
    drop(tensor);
    FAULT.set(Fault::Misaligned);
    let error = instance.tensor(DataType::Uint8, &[4]).unwrap_err().to_string();
    assert!(error.contains("not aligned to 64 bytes"), "{error}");
    assert_eq!(fake::allocated(), 0, "unusable memory is released");
}

#[test]
fn slots_are_as_many_as_the_plugin_says_within_reason() {
    let model = model();
    for (says, slots) in [(0, 1), (1, 1), (8, 8), (u32::MAX, 8)] {
        IN_FLIGHT.set(says);
        assert_eq!(model.open().unwrap().in_flight(), slots);
    }
}

#[test]
fn a_slot_holds_one_batch_from_begin_to_finish() {
    let mut instance = model().open().unwrap();
    let mut first = batch(&instance);
    first.inputs[0].data_mut().copy_from_slice(&[1, 2, 3, 4]);
    instance.warm_up(&first).unwrap();
    assert!(calls().contains(&"warm_up [1, 4]=4 to 1".to_owned()));
    assert_eq!(instance.free_slot(), Some(0));
    assert!(instance.begin(0, first).is_ok());
    assert_eq!(instance.free_slot(), Some(1));

    let second = batch(&instance);
    let (error, second) = instance.begin(0, second).unwrap_err();
    assert_eq!(error.to_string(), "slot 0 is not free");
    let (error, second) = instance.begin(2, second).unwrap_err();
    assert_eq!(error.to_string(), "slot 2 is not free");
    FAULT.set(Fault::Fails(abi::OUT_OF_MEMORY, "full\0"));
    let (error, second) = instance.begin(1, second).unwrap_err();
    assert!(matches!(error, PluginError::OutOfMemory(text) if text == "full"));
    assert_eq!((instance.free_slot(), second.inputs.len()), (Some(1), 1));

    // A failed batch is returned, too, and its slot is free.
    let (_, failed) = instance.finish(0).unwrap();
    assert!(failed.is_err());
    FAULT.set(Fault::None);
    assert!(instance.finish(0).is_none() && instance.finish(9).is_none());
    assert!(instance.begin(0, second).is_ok());
    let (done, finished) = instance.finish(0).unwrap();
    assert!(finished.is_ok());
    assert_eq!(done.outputs[0].data(), done.inputs[0].data());
}

/// Runs on its own thread, because unreleased memory stays in the fake's records.
#[test]
fn nothing_is_given_back_to_a_lost_device() {
    std::thread::spawn(|| {
        let model = model();
        let mut instance = model.open().unwrap();
        let (first, second) = (batch(&instance), batch(&instance));
        assert!(instance.begin(0, first).is_ok() && instance.begin(1, second).is_ok());
        let kept = tensor(&instance);
        FAULT.set(Fault::Fails(abi::DEVICE_LOST, "an illegal memory access\0"));
        let (_, lost) = instance.finish(1).unwrap();
        assert_eq!(lost.unwrap_err().to_string(), "the device is lost: an illegal memory access");
        assert_eq!(instance.loss_reason(), Some("an illegal memory access"));
        FAULT.set(Fault::None);
        calls();
        let again = instance.tensor(DataType::Uint8, &[4]).unwrap_err();
        assert!(matches!(again, PluginError::DeviceLost(_)), "{again}");
        assert!(matches!(instance.finish(0), Some((_, Err(PluginError::DeviceLost(_))))));
        drop((instance, kept, model));
        assert_eq!(
            calls(),
            Vec::<String>::new(),
            "neither allocate, finish, release, close nor unload"
        );
        assert_eq!(fake::allocated(), 5);
    })
    .join()
    .unwrap();
}

#[test]
fn a_waiter_waits_for_the_batch_that_it_is_told() {
    let mut instance = model().open().unwrap();
    let waiter = instance.waiter().unwrap();
    assert_eq!((instance.batch_in(0), instance.batch_in(9)), (None, None));
    let first = batch(&instance);
    assert!(instance.begin(0, first).is_ok());
    let begun = instance.batch_in(0).unwrap();
    calls();
    waiter.wait(begun);
    assert_eq!(calls(), ["wait 0"]);
    // The batch is finished, and then the slot holds another one.
    let (first, _) = instance.finish(0).unwrap();
    calls();
    waiter.wait(begun);
    assert!(instance.begin(0, first).is_ok());
    waiter.wait(begun);
    assert_eq!(calls(), ["begin 0"]);
    // `finish` reports the error.
    FAULT.set(Fault::Fails(abi::FAILED, "hot\0"));
    waiter.wait(instance.batch_in(0).unwrap());
    assert_eq!(instance.finish(0).unwrap().1.unwrap_err().to_string(), "hot");
    FAULT.set(Fault::None);
    // The waiter keeps the instance open.
    drop(instance);
    calls();
    drop(waiter);
    assert!(calls().contains(&"close".to_owned()));
}

#[test]
fn batches_are_begun_while_a_waiter_waits() {
    let model = model();
    IN_FLIGHT.set(3);
    let mut instance = model.open().unwrap();
    let (waiter, first, second) = (instance.waiter().unwrap(), batch(&instance), batch(&instance));
    assert!(instance.begin(0, first).is_ok());
    let begun = instance.batch_in(0).unwrap();
    let waits = std::thread::spawn(move || {
        FAULT.set(Fault::Waits);
        waiter.wait(begun);
    });
    // The waiter waits from here on.
    GATE.wait();
    assert_eq!(instance.batch_in(0), Some(begun));
    assert!(instance.begin(2, second).is_ok() && instance.batch_in(2).is_some());
    GATE.wait();
    waits.join().unwrap();
    assert!(instance.finish(0).is_some() && instance.finish(2).is_some());
    assert_eq!(instance.batch_in(0), None);
}

#[test]
fn a_plugin_need_not_be_able_to_wait() {
    let table = Engine { wait: None, ..fake::table() };
    assert!(plugin(table).unwrap().load(settings()).unwrap().open().unwrap().waiter().is_none());
}
