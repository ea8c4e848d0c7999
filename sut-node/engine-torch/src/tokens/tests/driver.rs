//! Calls the functions of the table as a node does.

use std::{
    collections::HashMap,
    ffi::{CStr, CString},
    fs,
    path::{Path, PathBuf},
    ptr,
};

use netdiv_plugin::{
    Precision,
    abi::{self, Status, Text},
};

use super::super::{TABLE, instance::TokenInstance};

/// Result of a function: its status and text if it failed.
pub(super) type Answer = Result<(), (Status, String)>;

/// Event of a step: the sample's number, its ids, and whether they are the last ones.
pub(super) type StepEvent = (u64, Vec<i32>, bool);

fn answer(call: impl FnOnce(Text) -> Status) -> Answer {
    let mut room = [0; 1024];
    let status = call(Text { at: room.as_mut_ptr(), room: 1024 });
    if status == abi::OK {
        return Ok(());
    }
    // SAFETY: the function has ended the text with a zero.
    Err((status, unsafe { CStr::from_ptr(room.as_ptr()) }.to_string_lossy().into_owned()))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models")
}

/// Reads a file of ids (docs/ENGINES.md).
pub(super) fn ids(name: &str) -> Vec<Vec<i32>> {
    let bytes = fs::read(folder().join(name)).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (count, all) = (number(8), 16 + 8 * (number(8) + 1));
    let id = |place: usize| {
        let at = all + 4 * place;
        i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    };
    let list = |place: usize| number(16 + 8 * place)..number(24 + 8 * place);
    (0..count).map(|place| list(place).map(id).collect()).collect()
}

/// Settings from a manifest of tests/models.
pub(super) struct Settings {
    pub(super) file: PathBuf,
    pub(super) device: &'static str,
    pub(super) precision: &'static str,
    pub(super) ends: Vec<i32>,
    pub(super) raw: abi::TokenSettings,
}

impl Settings {
    pub(super) fn of(model: &str) -> Self {
        let manifest = fs::read_to_string(folder().join(format!("{model}.toml"))).unwrap();
        let value = |key: &str| {
            let line = manifest.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
            line.unwrap_or_else(|| panic!("no {key} in the manifest of {model}"))
        };
        let number = |key: &str| value(key).parse().unwrap();
        let raw = abi::TokenSettings {
            size: size_of::<abi::TokenSettings>() as u64,
            path: ptr::null(),
            device: ptr::null(),
            precision: ptr::null(),
            threads: 1,
            vocabulary: number("vocabulary"),
            longest_prompt: number("max_input_tokens"),
            longest_output: number("max_tokens"),
            slots: number("slots"),
            chunk: number("chunk"),
            cache_bytes: 0,
            beams: number("beams"),
            end_count: 0,
            ends: ptr::null(),
        };
        let mut precisions = Precision::ALL.map(Precision::name).into_iter();
        let precision = precisions.find(|name| value("precision") == format!("\"{name}\""));
        let list = value("eos").trim_matches(['[', ']']);
        let ends = list.split(", ").map(|end| end.parse().unwrap()).collect();
        let file = folder().join(format!("{model}.pt"));
        Self { file, device: "cpu", precision: precision.unwrap(), ends, raw }
    }
}

/// A model with one instance.
pub(super) struct Engine {
    model: *mut abi::TokenModel,
    instance: *mut abi::TokenInstance,
    pub(super) room: abi::TokenRoom,
    _settings: Settings,
    _texts: [CString; 3],
}

impl Engine {
    pub(super) fn open(mut settings: Settings) -> Result<Self, (Status, String)> {
        let texts = [settings.file.to_str().unwrap(), settings.device, settings.precision]
            .map(|text| CString::new(text).unwrap());
        [settings.raw.path, settings.raw.device, settings.raw.precision] =
            [0, 1, 2].map(|place| texts[place].as_ptr());
        settings.raw.ends = settings.ends.as_ptr();
        settings.raw.end_count = settings.ends.len() as u32;
        let (mut model, mut instance) = (ptr::null_mut(), ptr::null_mut());
        let mut room = abi::TokenRoom::default();
        // SAFETY: the settings live as long as the engine; the pointer is valid.
        answer(|error| unsafe { TABLE.load.unwrap()(&settings.raw, &mut model, error) })?;
        // SAFETY: the model is loaded; the pointers are valid.
        let opened =
            answer(|error| unsafe { TABLE.open.unwrap()(model, &mut instance, &mut room, error) });
        if opened.is_err() {
            // SAFETY: the model is loaded and used no more.
            unsafe { TABLE.unload.unwrap()(model) };
        }
        opened.map(|()| Self { model, instance, room, _settings: settings, _texts: texts })
    }

    pub(super) fn of(model: &str) -> Self {
        Self::with(model, |_| ())
    }

    pub(super) fn with(model: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::of(model);
        change(&mut settings);
        Self::open(settings).map_err(|(_, why)| why).unwrap()
    }

    /// Lets each step begin before the results of the previous step are read, as on a GPU.
    pub(super) fn run_ahead(&mut self) {
        // SAFETY: the instance is ours, and of this type.
        unsafe { &mut *self.instance.cast::<TokenInstance<'_>>() }.runs_ahead = true;
    }

    pub(super) fn warm_up(&mut self) -> Answer {
        // SAFETY: the instance is ours.
        answer(|error| unsafe { TABLE.warm_up.unwrap()(self.instance, error) })
    }

    pub(super) fn submit(&mut self, sample: u64, ids: &[i32], least: u32, most: u32) -> Answer {
        let count = ids.len() as u32;
        // SAFETY: the instance is ours; the ids are valid.
        answer(|error| unsafe {
            TABLE.submit.unwrap()(self.instance, sample, ids.as_ptr(), count, least, most, error)
        })
    }

    pub(super) fn step(&mut self) -> Result<Vec<StepEvent>, (Status, String)> {
        let none = abi::TokenEvent { sample: 0, ids: ptr::null(), count: 0, is_last: 0 };
        let mut events = vec![none; self.room.slots as usize];
        let (room, mut count) = (self.room.slots, 0);
        // SAFETY: the instance is ours; the memory is valid.
        answer(|error| unsafe {
            TABLE.step.unwrap()(self.instance, events.as_mut_ptr(), room, &mut count, error)
        })?;
        let read = |event: &abi::TokenEvent| {
            // SAFETY: they are valid until the next call.
            let ids = unsafe { std::slice::from_raw_parts(event.ids, event.count as usize) };
            (event.sample, ids.to_vec(), event.is_last == 1)
        };
        Ok(events[..count as usize].iter().map(read).collect())
    }

    pub(super) fn cancel(&mut self, sample: u64) {
        // SAFETY: the instance is ours.
        unsafe { TABLE.cancel.unwrap()(self.instance, sample) }
    }

    /// Steps until `count` samples have ended. Returns their outputs.
    pub(super) fn finish(&mut self, count: usize) -> HashMap<u64, Vec<i32>> {
        let (mut outputs, mut ended) = (HashMap::<u64, Vec<i32>>::new(), 0);
        let mut steps = 0;
        while ended < count {
            for (sample, ids, is_last) in self.step().map_err(|(_, why)| why).unwrap() {
                outputs.entry(sample).or_default().extend(ids);
                ended += usize::from(is_last);
            }
            steps += 1;
            assert!(steps < 10_000, "{ended} of {count} have ended");
        }
        outputs
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: both are ours, and used no more.
        unsafe {
            TABLE.close.unwrap()(self.instance);
            TABLE.unload.unwrap()(self.model);
        }
    }
}
