//! A plug-in for language models in this process. A test scripts the results of its steps.

use std::{
    cell::{Cell, RefCell},
    slice,
};

use super::fake::{note, outcome, text};
use crate::abi::{
    Status, Text, TokenEngine, TokenEvent, TokenInstance, TokenModel, TokenRoom, TokenSettings,
};

thread_local! {
    /// Number of slots that `open` returns.
    pub(super) static SLOTS: Cell<u32> = const { Cell::new(3) };
    /// Events of the next step.
    pub(super) static SCRIPT: RefCell<Vec<TokenEvent>> = const { RefCell::new(Vec::new()) };
    /// Wrong number of events that the next step states; `None`: the right one.
    pub(super) static COUNT: Cell<Option<u32>> = const { Cell::new(None) };
}

pub(super) fn event(sample: u64, ids: &'static [i32], is_last: u32) -> TokenEvent {
    TokenEvent { sample, ids: ids.as_ptr(), count: ids.len() as u32, is_last }
}

/// Settings of a model as the node passed them. They live until unload.
struct FakeTokenModel(TokenSettings);

impl FakeTokenModel {
    fn said(&self) -> String {
        let asked = &self.0;
        // SAFETY: strings and ids live until unload.
        unsafe {
            let ends = slice::from_raw_parts(asked.ends, asked.end_count as usize);
            let [path, device, precision] =
                [asked.path, asked.device, asked.precision].map(|at| text(at));
            format!("{path} {device} {precision} {} slots, ends {ends:?}", asked.slots)
        }
    }
}

unsafe extern "C" fn load(
    settings: *const TokenSettings,
    model: *mut *mut TokenModel,
    error: Text,
) -> Status {
    outcome(error, || {
        // SAFETY: the node's settings; a copy keeps their pointers.
        let loaded = FakeTokenModel(unsafe { settings.read() });
        note(format!("load {}", loaded.said()));
        // SAFETY: the node's pointer for the model.
        unsafe { *model = Box::into_raw(Box::new(loaded)).cast() };
    })
}

unsafe extern "C" fn unload(model: *mut TokenModel) {
    // SAFETY: the pointer is from `load`.
    let model = unsafe { Box::from_raw(model.cast::<FakeTokenModel>()) };
    note(format!("unload {}", model.said()));
}

unsafe extern "C" fn open(
    _model: *mut TokenModel,
    instance: *mut *mut TokenInstance,
    room: *mut TokenRoom,
    error: Text,
) -> Status {
    outcome(error, || {
        // SAFETY: the node's pointers for the instance and its room.
        unsafe {
            *room = TokenRoom { slots: SLOTS.get(), reserved: 0, cache_bytes: 7 };
            *instance = Box::into_raw(Box::new(7_u8)).cast();
        }
    })
}

unsafe extern "C" fn close(instance: *mut TokenInstance) {
    note("close");
    // SAFETY: the pointer is from `open`.
    drop(unsafe { Box::from_raw(instance.cast::<u8>()) });
}

unsafe extern "C" fn warm_up(_instance: *mut TokenInstance, error: Text) -> Status {
    outcome(error, || note("warm_up"))
}

unsafe extern "C" fn submit(
    _instance: *mut TokenInstance,
    sample: u64,
    ids: *const i32,
    count: u32,
    least: u32,
    most: u32,
    error: Text,
) -> Status {
    outcome(error, || {
        // SAFETY: the node passes that many.
        let ids = unsafe { slice::from_raw_parts(ids, count as usize) };
        note(format!("submit {sample} {ids:?} {least}-{most}"));
    })
}

unsafe extern "C" fn step(
    _instance: *mut TokenInstance,
    events: *mut TokenEvent,
    room: u32,
    count: *mut u32,
    error: Text,
) -> Status {
    outcome(error, || {
        let script = SCRIPT.take();
        for (place, event) in script.iter().take(room as usize).enumerate() {
            // SAFETY: the node passes that much room.
            unsafe { events.add(place).write(*event) };
        }
        // SAFETY: the node's pointer for their number.
        unsafe { *count = COUNT.take().unwrap_or(script.len() as u32) };
    })
}

unsafe extern "C" fn cancel(_instance: *mut TokenInstance, sample: u64) {
    note(format!("cancel {sample}"));
}

/// Returns a table with all functions.
pub(super) fn table() -> TokenEngine {
    TokenEngine {
        size: size_of::<TokenEngine>() as u32,
        event_size: size_of::<TokenEvent>() as u32,
        load: Some(load),
        unload: Some(unload),
        open: Some(open),
        close: Some(close),
        warm_up: Some(warm_up),
        submit: Some(submit),
        step: Some(step),
        cancel: Some(cancel),
    }
}
