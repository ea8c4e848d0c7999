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

/// An instance, with the samples that it has under way.
#[derive(Debug)]
pub struct TokenInstance {
    model: Arc<TokenModelHandle>,
    instance: NonNull<abi::TokenInstance>,
    room: TokenRoom,
    /// Where the plug-in writes what a step gave, one place for each slot.
    events: Vec<abi::TokenEvent>,
    /// By the number under which a sample was submitted.
    under_way: HashMap<u64, Output>,
    /// Number of the sample that is submitted next.
    next: u64,
    /// Steps so far.
    steps: u64,
}

// SAFETY: the header lets any thread use an instance, one at a time, which needs `&mut` here. What the events point at is
// read in the step that wrote them alone.
unsafe impl Send for TokenInstance {}

/// What an instance has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRoom {
    /// Samples under way at the same time.
    pub slots: usize,
    /// Bytes of the device's memory for keys and values.
    pub cache_bytes: u64,
}

/// What a step gave for a sample.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenEvent<'a> {
    /// Its number.
    pub sample: u64,
    /// Ids that follow those that were given before.
    pub ids: &'a [i32],
    /// Whether the output has ended, and the slot is free.
    pub is_last: bool,
}

impl TokenInstance {
    pub(crate) fn open(model: Arc<TokenModelHandle>) -> Result<Self, PluginError> {
        let (mut instance, mut room) = (ptr::null_mut(), abi::TokenRoom::default());
        {
            let _alone = model.table.alone();
            // SAFETY: the model is loaded.
            model.table.call(|error| unsafe {
                (model.functions.open)(model.model.as_ptr(), &mut instance, &mut room, error)
            })?;
        }
        let instance = NonNull::new(instance).ok_or_else(|| {
            PluginError::Failed("open gave neither an instance nor an error".into())
        })?;
        let abi::TokenRoom { slots, cache_bytes, .. } = room;
        let none = abi::TokenEvent { sample: 0, ids: ptr::null(), count: 0, is_last: 0 };
        let asked = model.settings.slots;
        // From here on, dropping it closes it.
        let mut opened = Self {
            model,
            instance,
            room: TokenRoom { slots: slots as usize, cache_bytes },
            events: Vec::new(),
            under_way: HashMap::new(),
            next: 0,
            steps: 0,
        };
        if !(1..=asked).contains(&slots) {
            let why = format!("open gave room for {slots} samples, and was asked for 1 to {asked}");
            return Err(opened.breach(why));
        }
        opened.events = vec![none; slots as usize];
        Ok(opened)
    }

    /// What it has room for.
    pub fn room(&self) -> TokenRoom {
        self.room
    }

    /// Runs every shape of a step once.
    pub fn warm_up(&mut self) -> Result<(), PluginError> {
        let warm_up = self.model.functions.warm_up;
        // SAFETY: the instance is open, and ours alone.
        self.model.table.call(|error| unsafe { warm_up(self.instance.as_ptr(), error) })
    }

    /// Begins a sample, whose output is to have from `least` to `most` ids; gives its number.
    pub fn submit(&mut self, ids: &[i32], least: u32, most: u32) -> Result<u64, PluginError> {
        if self.under_way.len() >= self.room.slots {
            return Err(PluginError::Failed("no slot is free".into()));
        }
        let (sample, submit) = (self.next, self.model.functions.submit);
        self.next += 1;
        // SAFETY: the instance is open, and ours alone; the plug-in copies the ids.
        self.model.table.call(|error| unsafe {
            let (instance, count) = (self.instance.as_ptr(), ids.len() as u32);
            submit(instance, sample, ids.as_ptr(), count, least, most, error)
        })?;
        self.under_way.insert(sample, Output::new(least, most));
        Ok(sample)
    }

    /// Goes on with all samples; gives at most one event for each. All of them are checked before the first is given.
    pub fn step(&mut self) -> Result<Vec<TokenEvent<'_>>, PluginError> {
        self.steps += 1;
        let mut count = 0;
        // SAFETY: the instance is open, and ours alone; there is room for as many events as said.
        self.model.table.call(|error| unsafe {
            let (events, room) = (self.events.as_mut_ptr(), self.events.len() as u32);
            let step = self.model.functions.step;
            step(self.instance.as_ptr(), events, room, &mut count, error)
        })?;
        let Some(written) = self.events.get(..count as usize) else {
            let room = self.events.len();
            return Err(self.breach(format!("a step gave {count} events, and has room for {room}")));
        };
        let mut events = Vec::with_capacity(written.len());
        for event in written {
            // SAFETY: what it points at is valid until the next call, and the next call needs `&mut self`.
            match unsafe { checked(event, &mut self.under_way, &self.model, self.steps) } {
                Ok(event) => events.push(event),
                Err(why) => return Err(self.breach(format!("sample {}: {why}", event.sample))),
            }
        }
        Ok(events)
    }

    /// Ends a sample at once.
    pub fn cancel(&mut self, sample: u64) {
        if self.under_way.remove(&sample).is_some() && self.model.table.lost().is_none() {
            // SAFETY: the instance is open, and ours alone.
            unsafe { (self.model.functions.cancel)(self.instance.as_ptr(), sample) }
        }
    }

    /// Ends all samples at once.
    pub fn cancel_all(&mut self) {
        let all: Vec<_> = self.under_way.keys().copied().collect();
        all.into_iter().for_each(|sample| self.cancel(sample));
    }

    fn breach(&self, why: String) -> PluginError {
        PluginError::Breach { plugin: self.model.table.name.clone(), why }
    }
}

/// An event, if it can be; else why it cannot. A sample whose output has ended is not under way any more.
///
/// # Safety
///
/// Where the event's ids are not null, there are as many as it says, for as long as `'a`.
unsafe fn checked<'a>(
    event: &abi::TokenEvent,
    under_way: &mut HashMap<u64, Output>,
    model: &TokenModelHandle,
    step: u64,
) -> Result<TokenEvent<'a>, String> {
    let abi::TokenEvent { sample, ids, count, is_last } = *event;
    let output = under_way.get_mut(&sample).ok_or("an event, and it is not under way")?;
    output.claim(count, step)?;
    let ids: &[i32] = match count {
        0 => &[],
        _ if ids.is_null() || !ids.is_aligned() => {
            return Err("ids at an address where there can be none".into());
        }
        // SAFETY: as above; they are not more than an output may have.
        _ => unsafe { slice::from_raw_parts(ids, count as usize) },
    };
    output.take(ids, &model.settings)?;
    if is_last != 0 {
        output.end()?;
        under_way.remove(&sample);
    }
    Ok(TokenEvent { sample, ids, is_last: is_last != 0 })
}

impl Drop for TokenInstance {
    fn drop(&mut self) {
        let _alone = self.model.table.alone();
        if self.model.table.lost().is_some() {
            // It stays open, and reads what its model points at.
            return std::mem::forget(self.model.clone());
        }
        // SAFETY: the instance is open, and nobody uses it any more.
        unsafe { (self.model.functions.close)(self.instance.as_ptr()) }
    }
}
