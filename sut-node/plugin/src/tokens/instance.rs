//! An instance of a language model, which one engine thread owns.

use std::{
    collections::HashMap,
    ptr::{self, NonNull},
    slice,
    sync::Arc,
};

use crate::{
    abi,
    error::PluginError,
    tokens::{handle::TokenModelHandle, output::Output},
};

/// An instance of a language model, and its samples in flight.
#[derive(Debug)]
pub struct PluginTokenInstance {
    model: Arc<TokenModelHandle>,
    instance: NonNull<abi::TokenInstance>,
    room: InstanceRoom,
    /// Buffer for the events of a step, with one element for each slot.
    events: Vec<abi::TokenEvent>,
    /// Outputs in progress, by the number of their sample.
    in_flight: HashMap<u64, Output>,
    /// Number that the next sample will have.
    next: u64,
    /// Number of steps so far.
    steps: u64,
}

// SAFETY: the header lets any thread use an instance, one at a time, which needs `&mut` here. The
// ids of the events are only read in the step that wrote them.
unsafe impl Send for PluginTokenInstance {}

/// Capacity of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceRoom {
    /// Maximum number of samples in flight.
    pub slots: usize,
    /// Bytes of the device's memory for keys and values.
    pub cache_bytes: u64,
}

/// Result of a step for one sample.
#[derive(Debug, PartialEq, Eq)]
pub struct StepEvent<'a> {
    /// Number of the sample.
    pub sample: u64,
    /// Ids that the step appends to the sample's output; may be empty.
    pub ids: &'a [i32],
    /// Set if the output has ended, and the slot is free.
    pub is_last: bool,
}

impl PluginTokenInstance {
    pub(crate) fn open(model: Arc<TokenModelHandle>) -> Result<Self, PluginError> {
        let mut room = abi::TokenRoom::default();
        // SAFETY: the model is loaded.
        let instance = model.table.open(|instance, error| unsafe {
            (model.functions.open)(model.model.as_ptr(), instance, &mut room, error)
        })?;
        let abi::TokenRoom { slots, cache_bytes, .. } = room;
        let none = abi::TokenEvent { sample: 0, ids: ptr::null(), count: 0, is_last: 0 };
        let asked = model.settings.slots;
        // From here on, a drop closes the instance.
        let mut opened = Self {
            model,
            instance,
            room: InstanceRoom { slots: slots as usize, cache_bytes },
            events: Vec::new(),
            in_flight: HashMap::new(),
            next: 0,
            steps: 0,
        };
        if !(1..=asked).contains(&slots) {
            let why =
                format!("open returned room for {slots} samples; the node requested 1 to {asked}");
            return Err(opened.breach(why));
        }
        opened.events = vec![none; slots as usize];
        Ok(opened)
    }

    /// Returns the capacity of the instance.
    pub fn room(&self) -> InstanceRoom {
        self.room
    }

    /// Lets the plug-in run every shape of a step once, before the node is ready.
    pub fn warm_up(&mut self) -> Result<(), PluginError> {
        let warm_up = self.model.functions.warm_up;
        // SAFETY: the instance is open, and borrowed exclusively.
        self.model.table.call(|error| unsafe { warm_up(self.instance.as_ptr(), error) })
    }

    /// Submits a sample with the prompt `ids`. Its output must have `least` to `most` ids. Returns
    /// the sample's number.
    pub fn submit(&mut self, ids: &[i32], least: u32, most: u32) -> Result<u64, PluginError> {
        if self.in_flight.len() >= self.room.slots {
            return Err(PluginError::Failed("no slot is free".into()));
        }
        let (sample, submit) = (self.next, self.model.functions.submit);
        self.next += 1;
        // SAFETY: the instance is open, and borrowed exclusively; the plug-in copies the ids.
        self.model.table.call(|error| unsafe {
            let (instance, count) = (self.instance.as_ptr(), ids.len() as u32);
            submit(instance, sample, ids.as_ptr(), count, least, most, error)
        })?;
        self.in_flight.insert(sample, Output::new(least, most));
        Ok(sample)
    }

    /// Runs a step for all samples in flight. Returns at most one event per sample. Fails if any
    /// event violates the header.
    pub fn step(&mut self) -> Result<Vec<StepEvent<'_>>, PluginError> {
        self.steps += 1;
        let mut count = 0;
        // SAFETY: the instance is open, and borrowed exclusively; there is room for the stated
        // number of events.
        self.model.table.call(|error| unsafe {
            let (events, room) = (self.events.as_mut_ptr(), self.events.len() as u32);
            let step = self.model.functions.step;
            step(self.instance.as_ptr(), events, room, &mut count, error)
        })?;
        let Some(written) = self.events.get(..count as usize) else {
            let room = self.events.len();
            return Err(self
                .breach(format!("a step returned {count} events, but there is room for {room}")));
        };
        let mut events = Vec::with_capacity(written.len());
        for event in written {
            // SAFETY: the event's ids are valid until the next call, and the next call needs `&mut
            // self`.
            match unsafe { check_event(event, &mut self.in_flight, &self.model, self.steps) } {
                Ok(event) => events.push(event),
                Err(why) => return Err(self.breach(format!("sample {}: {why}", event.sample))),
            }
        }
        Ok(events)
    }

    /// Ends a sample at once, without further events. Ignores a number that is not in flight.
    pub fn cancel(&mut self, sample: u64) {
        if self.in_flight.remove(&sample).is_some() && self.model.table.loss_reason().is_none() {
            // SAFETY: the instance is open, and borrowed exclusively.
            unsafe { (self.model.functions.cancel)(self.instance.as_ptr(), sample) }
        }
    }

    /// Ends all samples in flight at once.
    pub fn cancel_all(&mut self) {
        let all: Vec<_> = self.in_flight.keys().copied().collect();
        all.into_iter().for_each(|sample| self.cancel(sample));
    }

    fn breach(&self, why: String) -> PluginError {
        let plugin = &self.model.table.name;
        PluginError::Failed(format!("the plug-in {plugin} violates netdiv_engine.h: {why}"))
    }
}

/// Checks an event of step number `step` against the outputs in progress, `under_way`. Returns the
/// event, or a description of its violation. Removes an output that has ended from `under_way`.
///
/// # Safety
///
/// `event.ids` is null, or points at `event.count` ids that live for `'a`.
unsafe fn check_event<'a>(
    event: &abi::TokenEvent,
    under_way: &mut HashMap<u64, Output>,
    model: &TokenModelHandle,
    step: u64,
) -> Result<StepEvent<'a>, String> {
    let abi::TokenEvent { sample, ids, count, is_last } = *event;
    let output = under_way.get_mut(&sample).ok_or("an event, but the sample is not in flight")?;
    output.check_count(count, step)?;
    let ids: &[i32] = match count {
        0 => &[],
        _ if ids.is_null() || !ids.is_aligned() => {
            return Err("ids at an invalid address".into());
        }
        // SAFETY: as above; their number is at most the output's.
        _ => unsafe { slice::from_raw_parts(ids, count as usize) },
    };
    output.check_ids(ids, &model.settings)?;
    if is_last != 0 {
        output.check_end()?;
        under_way.remove(&sample);
    }
    Ok(StepEvent { sample, ids, is_last: is_last != 0 })
}

impl Drop for PluginTokenInstance {
    fn drop(&mut self) {
        let _alone = self.model.table.lock_exclusive();
        if self.model.table.loss_reason().is_some() {
            // The instance stays open, and reads the data that its model points at.
            return std::mem::forget(self.model.clone());
        }
        // SAFETY: the instance is open, and no other code uses it.
        unsafe { (self.model.functions.close)(self.instance.as_ptr()) }
    }
}
