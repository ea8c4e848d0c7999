//! An instance: the samples in flight, and the steps that continue all of them.

use std::{mem, ops::Range};

use netdiv_plugin::abi;
use tch::{Kind, Tensor};

use super::{
    compute::{Computer, Plan, StepChoice},
    model::LanguageModel,
    package::Decoded,
    sample::{Sample, Search},
    schedule::{self, Rows, Schedule},
};
use crate::{
    failure::Failure,
    shim::{InferenceMode, set_threads},
    stream::Stream,
};

/// Event of a step: the new ids of one sample.
struct SampleEvent {
    sample: u64,
    /// Range of the sample's new ids in `TokenInstance::ids`.
    ids: Range<usize>,
    is_last: bool,
}

/// Rows of the next step, whose tokens the device already computes.
struct BegunRows {
    rows: Rows,
    decoded: Decoded,
}

/// An instance, which one thread of the node owns.
pub(crate) struct TokenInstance<'a> {
    model: &'a LanguageModel,
    computer: Computer<'a>,
    schedule: Schedule,
    /// Samples, by slot.
    samples: Vec<Option<Sample>>,
    /// Begins a step's rows before the tokens of the previous step are read, so that the device
    /// does not wait for the host. Rows of samples that have ended are discarded.
    pub(super) runs_ahead: bool,
    begun: Option<BegunRows>,
    /// Events of the last step.
    events: Vec<SampleEvent>,
    /// Ids of all events of the last step, one event after the other.
    ids: Vec<i32>,
}

impl<'a> TokenInstance<'a> {
    pub(crate) fn open(model: &'a LanguageModel) -> Result<Self, Failure> {
        let _mode = InferenceMode::enter();
        let stream = Stream::new(model.device)?;
        let _entered = stream.enter()?;
        let computer = Computer::new(model, stream)?;
        let schedule = Schedule::new(computer.cache.slots, model.limits.chunk, model.room());
        let samples = (0..computer.cache.slots).map(|_| None).collect();
        // With beams, the host chooses the tokens, so that steps cannot run ahead.
        let runs_ahead = model.device.is_cuda() && model.limits.beams == 1;
        let (events, ids) = (Vec::new(), Vec::new());
        Ok(Self { model, computer, schedule, samples, runs_ahead, begun: None, events, ids })
    }

    pub(crate) fn room(&self) -> abi::TokenRoom {
        abi::TokenRoom {
            slots: self.computer.cache.slots as u32,
            reserved: 0,
            cache_bytes: self.computer.cache.bytes,
        }
    }

    /// Runs the largest part of a prompt at the start and at the end of a prompt, shorter prompts, a
    /// step with the maximum number of prompts, and rows of the shapes that steps have. A GPU runs
    /// all shapes, a CPU only the shortest and the longest for each number of rows. The first runs
    /// profile and optimise the graph.
    pub(crate) fn warm_up(&mut self) -> Result<(), Failure> {
        set_threads(self.model.threads);
        let _mode = InferenceMode::enter();
        let _entered = self.computer.stream.enter()?;
        let (limits, longest) = (&self.model.limits, self.model.room());
        let slots = self.computer.cache.slots;
        let part = limits.chunk.min(limits.longest_prompt);
        let mut starts = vec![0, limits.longest_prompt - part];
        starts.dedup();
        // The first prompt has a token that must not end the output; the second has none.
        let (prompt, search) = (vec![0; limits.longest_prompt], Search::new(limits.beams));
        let early = Sample { number: 0, prompt, least: 2, most: 2, given: 0, search };
        let mut samples: Vec<_> = (0..slots).map(|_| None).collect();
        samples[0] = Some(early);
        let prompt = |start, end| {
            let chunks = vec![schedule::Chunk { slot: 0, start, end, is_last: true }];
            Plan { chunks, ..Plan::default() }
        };
        for start in [starts.clone(), starts].concat() {
            self.run_thrice(&prompt(start, start + part), &samples)?;
            samples[0] = None;
        }
        for length in schedule::prompt_lengths(part) {
            self.computer.run(&prompt(0, length), &samples)?;
        }
        let rows = |count, length| {
            let row = schedule::SlotRow { position: 0, runs: false };
            Rows { rows: vec![row; count], length }
        };
        // The maximum number of prompts in a step, together with rows of all slots.
        let prompts = (limits.chunk / part).clamp(1, slots);
        let chunk = |slot| schedule::Chunk { slot, start: 0, end: part, is_last: true };
        let chunks = (0..prompts).map(chunk).collect();
        let full = Plan { chunks, rows: rows(slots, longest), ..Plan::default() };
        self.run_thrice(&full, &samples)?;
        for (count, length) in schedule::shapes(slots, longest).into_iter().rev() {
            if self.model.device.is_cuda() || [schedule::room_for(1), longest].contains(&length) {
                let plan = Plan { rows: rows(count, length), ..Plan::default() };
                self.computer.run(&plan, &samples)?;
            }
        }
        if limits.beams > 1 {
            let rows = (slots * limits.beams) as i64;
            let shifted = Tensor::f_arange(rows, (Kind::Int64, self.model.device))?;
            self.model.reorder(&self.computer.cache, shifted.f_roll([1], [0])?, 0, longest)?;
        }
        Ok(())
    }

    fn run_thrice(&mut self, plan: &Plan, samples: &[Option<Sample>]) -> Result<(), Failure> {
        (0..3).try_for_each(|_| self.computer.run(plan, samples).map(drop))
    }

    pub(crate) fn submit(
        &mut self,
        number: u64,
        prompt: &[i32],
        least: usize,
        most: usize,
    ) -> Result<(), Failure> {
        let limits = &self.model.limits;
        let is_token = |id: &i32| usize::try_from(*id).is_ok_and(|id| id < limits.vocabulary);
        if !(1..=limits.longest_prompt).contains(&prompt.len()) || !prompt.iter().all(is_token) {
            return Err(Failure::refused(format!(
                "the prompt has the length {}; it must have 1 to {} ids, each from 0 to {}",
                prompt.len(),
                limits.longest_prompt,
                limits.vocabulary - 1
            )));
        }
        if least < 1 || least > most || most > limits.longest_output {
            return Err(Failure::refused(format!(
                "an output of {least} to {most} ids is not within 1 to {}",
                limits.longest_output
            )));
        }
        let slot = self.schedule.admit(number, prompt.len()).ok_or_else(|| {
            Failure::refused(format!("no slot of {} is free", self.computer.cache.slots))
        })?;
        let search = Search::new(limits.beams);
        let prompt = prompt.to_vec();
        self.samples[slot] = Some(Sample { number, prompt, least, most, given: 0, search });
        Ok(())
    }

    pub(crate) fn cancel(&mut self, number: u64) {
        if let Some(slot) = self.schedule.slot_of(number) {
            self.leave(slot);
        }
    }

    fn leave(&mut self, slot: usize) {
        self.schedule.leave(slot);
        self.samples[slot] = None;
        if let Some(row) = self.begun.as_mut().and_then(|begun| begun.rows.rows.get_mut(slot)) {
            row.runs = false;
        }
    }

    /// Computes a step, and writes its events. Returns the number of events. After an error no
    /// sample is in flight any more.
    pub(crate) fn step(&mut self, events: &mut [abi::TokenEvent]) -> Result<u32, Failure> {
        set_threads(self.model.threads);
        let _mode = InferenceMode::enter();
        let outcome = self.computer.stream.enter().and_then(|_entered| {
            // Other errors may follow from the loss of the device.
            self.advance().map_err(|first| self.model.loss().unwrap_or(first))
        });
        let too_many = self.events.len() > events.len();
        if outcome.is_err() || too_many {
            (0..self.samples.len()).for_each(|slot| self.leave(slot));
            outcome?;
            return Err(Failure::refused("there is no room for an event of each slot".into()));
        }
        for (place, event) in events.iter_mut().zip(&self.events) {
            let ids = &self.ids[event.ids.clone()];
            *place = abi::TokenEvent {
                sample: event.sample,
                ids: ids.as_ptr(),
                count: ids.len() as u32,
                is_last: event.is_last.into(),
            };
        }
        Ok(self.events.len() as u32)
    }

    fn advance(&mut self) -> Result<(), Failure> {
        self.events.clear();
        self.ids.clear();
        let mut plan = self.plan();
        for part in plan.chunks.iter().filter(|part| !part.is_last) {
            self.goes_on(part.slot);
        }
        let computed = self.computer.run(&plan, &self.samples)?;
        let rows = mem::take(&mut plan.next);
        self.begun = computed.begun.map(|decoded| BegunRows { rows, decoded });
        let Some(chosen) = computed.chosen else { return Ok(()) };
        for (place, (slot, runs)) in plan.slots().enumerate() {
            if runs {
                self.take(slot, &chosen, place);
            }
        }
        Ok(())
    }

    /// Plans a step: the rows that the previous step began, or else rows of all samples with
    /// complete prompts; then parts of waiting prompts; then the rows of the next step, if steps
    /// run ahead.
    fn plan(&mut self) -> Plan {
        let begun = self.begun.take().filter(|it| it.rows.rows.iter().any(|row| row.runs));
        let (rows, begun) = match begun {
            Some(begun) => (begun.rows, Some(begun.decoded)),
            None => (self.schedule.rows(|_| true), None),
        };
        let chunks = self.schedule.chunks();
        let goes_on = |slot: usize| {
            self.samples[slot].as_ref().is_some_and(|sample| sample.given + 1 < sample.most)
        };
        let next = if self.runs_ahead { self.schedule.rows(goes_on) } else { Rows::default() };
        Plan { rows, begun, chunks, next }
    }

    /// Adds an event without ids, which shows that the sample in a slot made progress.
    fn goes_on(&mut self, slot: usize) {
        if let Some(sample) = &self.samples[slot] {
            self.events.push(SampleEvent { sample: sample.number, ids: 0..0, is_last: false });
        }
    }

    /// Passes result number `place` of a step to the sample in a slot: its next token, or
    /// candidates for its beams.
    fn take(&mut self, slot: usize, chosen: &StepChoice, place: usize) {
        let limits = &self.model.limits;
        let Some(sample) = &mut self.samples[slot] else { return };
        sample.given += 1;
        let start = self.ids.len();
        let is_last = match (&mut sample.search, chosen) {
            (Search::Greedy(last), StepChoice::Ids(ids)) => {
                *last = ids[place] as i32;
                self.ids.push(*last);
                sample.given >= sample.most || limits.ends.contains(last)
            }
            (Search::Beams(beams), StepChoice::Candidates(all)) => {
                let keep = limits.candidates();
                let given = &all[place * keep..(place + 1) * keep];
                let Some(output) = beams.take(given, &limits.ends, sample.most) else {
                    return self.goes_on(slot);
                };
                self.ids.extend(output);
                true
            }
            _ => return,
        };
        let event = SampleEvent { sample: sample.number, ids: start..self.ids.len(), is_last };
        self.events.push(event);
        if is_last {
            self.leave(slot);
        }
    }
}
