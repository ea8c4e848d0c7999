//! A language model on one device. `deploy/models/export_language_model.py` writes its file, whose
//! entries are the functions that the plug-in calls.

use std::{
    ffi::{CStr, c_char},
    slice,
};

use netdiv_plugin::abi;
use tch::{CModule, Device, IValue, Kind, Tensor};

use super::{
    cache::{Cache, Sizes},
    package::{BOTH, DecodePackage, Decoded},
    schedule,
};
use crate::{
    device,
    failure::Failure,
    package::script_of,
    precision::{check_precision, weights_of},
    shim,
};

/// Hint appended to the error for an invalid model file.
const EXPORT: &str = "export it with deploy/models/export_language_model.py";

/// Supported version of a file's entries. The entry `sizes` states the file's version.
const ENTRIES: i64 = 2;

/// Limits that the node requests.
pub(super) struct Limits {
    pub(super) vocabulary: usize,
    pub(super) longest_prompt: usize,
    pub(super) longest_output: usize,
    pub(super) slots: usize,
    pub(super) chunk: usize,
    pub(super) cache_bytes: u64,
    pub(super) beams: usize,
    pub(super) ends: Vec<i32>,
}

pub(crate) struct LanguageModel {
    module: CModule,
    /// Package that computes `decode`, if there is one.
    package: Option<DecodePackage>,
    pub(super) device: Device,
    pub(super) threads: i32,
    pub(super) kind: Kind,
    pub(super) sizes: Sizes,
    pub(super) limits: Limits,
}

/// States (the model's results for single tokens) from which the next tokens are chosen. `early`
/// marks the states whose next token must not end the output; `None` if all may.
pub(super) struct States {
    pub(super) states: Tensor,
    pub(super) early: Option<Tensor>,
}

impl States {
    /// Returns `count` of the states, beginning with number `start`.
    pub(super) fn part(&self, start: i64, count: i64) -> Result<Self, Failure> {
        let early = self.early.as_ref().map(|early| early.f_narrow(0, start, count));
        Ok(Self { states: self.states.f_narrow(0, start, count)?, early: early.transpose()? })
    }

    fn arguments(&self) -> [IValue; 2] {
        let early = self.early.as_ref().map(Tensor::shallow_clone);
        [IValue::Tensor(self.states.shallow_clone()), early.map_or(IValue::None, IValue::Tensor)]
    }
}

/// Parts of prompts that a step computes. `ids` and `positions` hold the tokens of all parts one
/// after the other; `rows`, `starts` and `counts` hold the first row, first position and number of
/// tokens of each part.
pub(super) struct Parts {
    pub(super) ids: Tensor,
    pub(super) positions: Tensor,
    pub(super) rows: Vec<i64>,
    pub(super) starts: Vec<i64>,
    pub(super) counts: Vec<i64>,
}

impl LanguageModel {
    /// Loads the model file of the settings onto their device. If their path is that of a package,
    /// loads the model file beside it too.
    ///
    /// # Safety
    ///
    /// The settings' pointers are valid, as the ABI requires.
    pub(crate) unsafe fn load(settings: &abi::TokenSettings) -> Result<Self, Failure> {
        if settings.size != size_of::<abi::TokenSettings>() as u64 {
            return Err(Failure::refused("netdiv_token_settings has an unexpected size".into()));
        }
        // SAFETY: the caller's strings.
        let text = |at: *const c_char| unsafe { CStr::from_ptr(at).to_string_lossy().into_owned() };
        let (path, precision) = (text(settings.path), text(settings.precision));
        let device = device::find(&text(settings.device))?;
        // cuDNN's attention is off, because it plans for each new shape, and each step would have
        // one.
        shim::set_up(device, &precision, false)?;
        let kind = weights_of(&precision)?;
        let (path, package) = match script_of(&path) {
            Some(script) => {
                let package = DecodePackage::load(&path, &script, device, &precision)?;
                (script, Some(package))
            }
            None => (path, None),
        };
        let mut module = CModule::load_on_device(&path, device).map_err(|error| {
            let refusal =
                |why| format!("cannot load {path}: {why}. If it is not a model, {EXPORT}");
            Failure::from(error).of_file(refusal)
        })?;
        module.f_set_eval()?;
        check_precision(&module, &precision)?;
        package.iter().try_for_each(|package| package.share(&module)).map_err(|error| {
            let refusal =
                |why| format!("the package cannot use the weights of {path}: {why}; {BOTH}");
            error.of_file(refusal)
        })?;
        // SAFETY: the caller's ids.
        let limits = unsafe { Limits::read(settings) };
        let sizes = sizes(&module)?;
        limits.check_sizes(&sizes)?;
        let threads = i32::try_from(settings.threads).unwrap_or(1).max(1);
        Ok(Self { module, package, device, threads, kind, sizes, limits })
    }

    /// Returns the number of positions of a slot.
    pub(super) fn room(&self) -> usize {
        schedule::room_for(self.limits.longest_prompt + self.limits.longest_output)
    }

    /// Computes parts of prompts, and writes the keys and values of each part to the rows of all
    /// beams of its sample. Returns the state of each part's last token.
    pub(super) fn prefill(&self, cache: &Cache, parts: Parts) -> Result<Tensor, Failure> {
        let [ids, positions] = [parts.ids, parts.positions].map(IValue::Tensor);
        let [rows, starts, counts] = [parts.rows, parts.starts, parts.counts].map(IValue::IntList);
        let width = int(self.limits.beams);
        let args = [&ids, &positions, &rows, &starts, &counts, &width, &cache.layers];
        self.tensor("prefill", &args)
    }

    /// Computes one token in each of the first rows: row n computes `ids[n]` at `positions[n]`,
    /// which is below `length`.
    pub(super) fn decode(
        &self,
        cache: &Cache,
        ids: Tensor,
        positions: Tensor,
        length: usize,
    ) -> Result<Decoded, Failure> {
        if let (Some(package), IValue::TensorList(layers)) = (&self.package, &cache.layers) {
            return package.decode(layers, ids, positions, length);
        }
        let (ids, positions) = (IValue::Tensor(ids), IValue::Tensor(positions));
        let states = self.tensor("decode", &[&ids, &positions, &int(length), &cache.layers])?;
        Ok(Decoded { states, ids: None })
    }

    /// Returns the likeliest token after each state. `ends` holds the ids that end an output.
    pub(super) fn choose(&self, states: &States, ends: &IValue) -> Result<Tensor, Failure> {
        let [states, early] = states.arguments();
        self.tensor("choose", &[&states, &early, ends])
    }

    /// Returns the `keep` best continuations of each group of `width` rows, best first. `scores`
    /// are the rows' scores so far. The first half of the result holds the new scores, the second
    /// half the row in the group times the vocabulary, plus the token.
    pub(super) fn candidates(
        &self,
        states: &States,
        scores: Tensor,
        ends: &IValue,
        width: usize,
        keep: usize,
    ) -> Result<Tensor, Failure> {
        let [states, early] = states.arguments();
        let scores = IValue::Tensor(scores);
        self.tensor("candidates", &[&states, &scores, &early, ends, &int(width), &int(keep)])
    }

    /// Replaces each of the first rows by a copy of the row that `source` names for it, from
    /// position `start` to `end`.
    pub(super) fn reorder(
        &self,
        cache: &Cache,
        source: Tensor,
        start: usize,
        end: usize,
    ) -> Result<(), Failure> {
        let source = IValue::Tensor(source);
        let args = [&source, &int(start), &int(end), &cache.layers];
        self.module.method_is("reorder", &args)?;
        Ok(())
    }

    /// Returns a failure if the device is lost. The copy from the device waits for all work on this
    /// thread's stream.
    pub(super) fn loss(&self) -> Option<Failure> {
        let zero = Tensor::f_zeros([1], (Kind::Float, self.device));
        let copied = zero.and_then(|zero| zero.f_to_device(Device::Cpu));
        copied.err().map(Failure::from).filter(Failure::is_lost)
    }

    fn tensor(&self, entry: &str, args: &[&IValue]) -> Result<Tensor, Failure> {
        match self.module.method_is(entry, args)? {
            IValue::Tensor(tensor) => Ok(tensor),
            other => Err(Failure::refused(format!(
                "the model's entry {entry} returns {other:?}; {EXPORT}"
            ))),
        }
    }
}

fn int(value: usize) -> IValue {
    IValue::Int(value as i64)
}

/// Returns the sizes that the file reports.
fn sizes(module: &CModule) -> Result<Sizes, Failure> {
    let none: [IValue; 0] = [];
    let said = module.method_is("sizes", &none).map_err(|_| {
        Failure::refused(format!("the model file has no entries of a language model; {EXPORT}"))
    })?;
    let IValue::GenericDict(said) = said else {
        return Err(Failure::refused(format!(
            "the model's entry sizes returns {said:?}; {EXPORT}"
        )));
    };
    read_sizes(&said)
}

fn read_sizes(said: &[(IValue, IValue)]) -> Result<Sizes, Failure> {
    let number = |name: &str| {
        said.iter().find_map(|entry| match entry {
            (IValue::String(key), IValue::Int(number)) if key == name => Some(*number),
            _ => None,
        })
    };
    if number("entries") != Some(ENTRIES) {
        return Err(Failure::refused(format!(
            "the model file has entries of another version of netdiv; {EXPORT} of this version"
        )));
    }
    let size = |name: &str| {
        number(name).filter(|&size| size > 0).map(|size| size as usize).ok_or_else(|| {
            Failure::refused(format!("the model's entry sizes returns no {name}; {EXPORT}"))
        })
    };
    Ok(Sizes {
        layers: size("layers")?,
        groups: size("groups")?,
        width: size("width")?,
        longest: size("longest")?,
        vocabulary: size("vocabulary")?,
    })
}

impl Limits {
    /// Reads the settings.
    ///
    /// # Safety
    ///
    /// The settings' ids are valid, as the ABI requires.
    unsafe fn read(settings: &abi::TokenSettings) -> Self {
        let ends = match settings.end_count {
            0 => Vec::new(),
            // SAFETY: the caller provides `count` ids.
            count => unsafe { slice::from_raw_parts(settings.ends, count as usize).to_vec() },
        };
        Self {
            vocabulary: settings.vocabulary as usize,
            longest_prompt: settings.longest_prompt as usize,
            longest_output: settings.longest_output as usize,
            slots: settings.slots as usize,
            chunk: settings.chunk as usize,
            cache_bytes: settings.cache_bytes,
            beams: settings.beams as usize,
            ends,
        }
    }

    /// Checks that a model of these sizes supports the limits.
    fn check_sizes(&self, sizes: &Sizes) -> Result<(), Failure> {
        let why = if [self.slots, self.chunk, self.beams, self.longest_prompt, self.longest_output]
            .contains(&0)
        {
            "slots, chunk, beams, and the longest prompt and output must be at least 1".into()
        } else if self.vocabulary != sizes.vocabulary {
            let (said, has) = (self.vocabulary, sizes.vocabulary);
            format!(
                "the manifest says vocabulary = {said}, but the model has {has}; correct the manifest"
            )
        } else if self.longest_prompt + self.longest_output > sizes.longest {
            format!(
                "the model has {} positions, less than a prompt of {} and an output of {} need; lower max_input_tokens \
                 or max_tokens",
                sizes.longest, self.longest_prompt, self.longest_output
            )
        } else if self
            .ends
            .iter()
            .any(|end| usize::try_from(*end).map_or(true, |end| end >= self.vocabulary))
        {
            format!(
                "not all of eos = {:?} are from 0 to {}; correct the manifest",
                self.ends,
                self.vocabulary - 1
            )
        } else if self.beams > 1 && self.candidates() + self.ends.len() > self.vocabulary {
            format!(
                "{} beams need a larger vocabulary than {}; lower beams",
                self.beams, self.vocabulary
            )
        } else {
            return Ok(());
        };
        Err(Failure::refused(why))
    }

    /// Returns the number of candidates that a step needs for each beam search.
    pub(super) fn candidates(&self) -> usize {
        super::beams::Beams::candidates(self.beams, self.ends.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            vocabulary: 128,
            longest_prompt: 64,
            longest_output: 40,
            slots: 4,
            chunk: 16,
            cache_bytes: 0,
            beams: 1,
            ends: vec![2, 3],
        }
    }

    #[test]
    fn a_file_with_other_entries_is_refused() {
        let named = |names: &[&str]| -> Vec<_> {
            let entry = |name: &&str| (IValue::String((*name).into()), IValue::Int(2));
            names.iter().map(entry).collect()
        };
        let all = ["entries", "layers", "groups", "width", "longest", "vocabulary"];
        assert!(read_sizes(&named(&all)).is_ok_and(|sizes| sizes.layers == 2));
        for (names, why) in [
            (&all[1..], "export it with deploy/models/export_language_model.py of this version"),
            (&all[..5], "returns no vocabulary"),
        ] {
            let refused = read_sizes(&named(names)).expect_err(why).text;
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn limits_that_the_model_cannot_keep_are_refused_with_what_to_do() {
        let sizes = Sizes { layers: 2, groups: 2, width: 8, longest: 104, vocabulary: 128 };
        assert!(limits().check_sizes(&sizes).is_ok());
        for (limits, why) in [
            (
                Limits { longest_output: 41, ..limits() },
                "has 104 positions, less than a prompt of 64 and an output of 41",
            ),
            (
                Limits { vocabulary: 127, ..limits() },
                "says vocabulary = 127, but the model has 128",
            ),
            (Limits { ends: vec![128], ..limits() }, "not all of eos = [128] are from 0 to 127"),
            (Limits { ends: vec![-1], ..limits() }, "not all of eos = [-1]"),
            (Limits { beams: 64, ..limits() }, "64 beams need a larger vocabulary"),
            (Limits { slots: 0, ..limits() }, "at least 1"),
        ] {
            let refused = limits.check_sizes(&sizes).expect_err(why);
            assert_eq!(refused.status, abi::REFUSED);
            assert!(refused.text.contains(why), "{}", refused.text);
        }
    }
}
