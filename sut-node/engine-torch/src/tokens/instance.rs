//! An instance: the samples under way, and a step of all of them.

use std::ops::Range;

use netdiv_plugin::abi;
use tch::{Device, IValue, Kind, Tensor};

use super::{
    beams::Candidate,
    cache::Cache,
    model::{Model, States},
    sample::{self, Row, Sample, Search},
    schedule::{self, Plan, Schedule},
    upload::Upload,
};
use crate::{failure::Failure, pipeline::InferenceMode, threads};

/// What a step gave for a sample.
struct Event {
    sample: u64,
    /// Where its ids lie.
    ids: Range<usize>,
    is_last: bool,
}

/// An instance, which one engine thread owns.
pub(crate) struct Instance<'a> {
    model: &'a Model,
    cache: Cache,
    schedule: Schedule,
    /// By slot.
    samples: Vec<Option<Sample>>,
    /// The ids that end an output, on the device.
    ends: IValue,
    /// Of the last step.
    events: Vec<Event>,
    ids: Vec<i32>,
}

impl<'a> Instance<'a> {
    pub(crate) fn open(model: &'a Model) -> Result<Self, Failure> {
        let _mode = InferenceMode::enter();
        let (limits, room) = (&model.limits, model.room());
        let place = (model.kind, model.device);
        let cache =
            Cache::new(&model.sizes, limits.slots, limits.beams, room, limits.cache_bytes, place)?;
        let ends: Vec<i64> = limits.ends.iter().map(|&end| end.into()).collect();
        let ends = IValue::Tensor(Tensor::f_from_slice(&ends)?.f_to_device(model.device)?);
        let schedule = Schedule::new(cache.slots, limits.chunk, room);
        let samples = (0..cache.slots).map(|_| None).collect();
        Ok(Self { model, cache, schedule, samples, ends, events: Vec::new(), ids: Vec::new() })
    }

    pub(crate) fn room(&self) -> abi::TokenRoom {
        abi::TokenRoom {
            slots: self.cache.slots as u32,
            reserved: 0,
            cache_bytes: self.cache.bytes,
        }
    }

    /// Runs the largest part of a prompt at its start and at its end, and steps of every number of rows at the least and the
    /// greatest length. The first runs profile and optimise the graph.
    pub(crate) fn warm_up(&mut self) -> Result<(), Failure> {
        let limits = &self.model.limits;
        let longest = self.model.room();
        let part = limits.chunk.min(limits.longest_prompt);
        let mut starts = vec![0, limits.longest_prompt - part];
        starts.dedup();
        for start in starts {
            let chunk = schedule::Chunk { slot: 0, start, end: start + part, is_last: true };
            self.run_thrice(&Plan { chunks: vec![chunk], ..Plan::default() })?;
        }
        for count in schedule::row_counts(self.cache.slots).into_iter().rev() {
            for length in [schedule::room_for(1), longest] {
                let row = schedule::Row { position: 0, runs: false };
                self.run_thrice(&Plan { chunks: Vec::new(), rows: vec![row; count], length })?;
            }
        }
        if limits.beams > 1 {
            let _mode = InferenceMode::enter();
            let rows = (self.cache.slots * limits.beams) as i64;
            let shifted = Tensor::f_arange(rows, (Kind::Int64, self.model.device))?;
            self.model.reorder(&self.cache, shifted.f_roll([1], [0])?, 0, longest)?;
        }
        Ok(())
    }

    fn run_thrice(&self, plan: &Plan) -> Result<(), Failure> {
        (0..3).try_for_each(|_| self.compute(plan).map(drop))
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
                "the prompt has {} ids; it has to have 1 to {}, each from 0 to {}",
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
            Failure::refused(format!("all {} slots have samples", self.cache.slots))
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
    }

    /// Computes a step, and writes what it gave. After an error no sample is under way any more.
    pub(crate) fn step(&mut self, events: &mut [abi::TokenEvent]) -> Result<u32, Failure> {
        // Other errors may follow from the loss of the device.
        let outcome = self.advance().map_err(|first| self.model.loss().unwrap_or(first));
        let too_many = self.events.len() > events.len();
        if outcome.is_err() || too_many {
            (0..self.samples.len()).for_each(|slot| self.leave(slot));
            outcome?;
            return Err(Failure::refused("there is not room for an event of every slot".into()));
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
        let plan = self.schedule.plan();
        for part in plan.chunks.iter().filter(|part| !part.is_last) {
            self.goes_on(part.slot);
        }
        let Some(chosen) = self.compute(&plan)? else { return Ok(()) };
        let prefilled =
            plan.chunks.iter().filter(|part| part.is_last).map(|part| (part.slot, true));
        let rows = plan.rows.iter().enumerate().map(|(slot, row)| (slot, row.runs));
        for (place, (slot, runs)) in prefilled.chain(rows).enumerate() {
            if runs {
                self.take(slot, &chosen, place);
            }
        }
        Ok(())
    }

    /// Computes what is planned. Returns what is chosen for each prompt that is done and each row, if there are any.
    fn compute(&self, plan: &Plan) -> Result<Option<Chosen>, Failure> {
        threads::prepare(self.model.threads);
        let _mode = InferenceMode::enter();
        let beams = self.model.limits.beams;
        let mut upload = Upload::default();
        let parts: Vec<_> = plan
            .chunks
            .iter()
            .map(|part| {
                upload.add((part.start..part.end).map(|at| {
                    self.samples[part.slot].as_ref().map_or(0, |it| it.prompt[at].into())
                }))
            })
            .collect();
        let rows: Vec<Row> = plan
            .rows
            .iter()
            .enumerate()
            .flat_map(|(slot, row)| {
                let sample = self.samples[slot].as_ref().filter(|_| row.runs);
                sample::rows(sample, slot, row.position, beams)
            })
            .collect();
        let ids = upload.add(rows.iter().map(|row| row.id.into()));
        let positions = upload.add(rows.iter().map(|row| row.position as i64));
        let source = upload.add(rows.iter().map(|row| row.source as i64));
        let scores =
            upload.add(rows.iter().map(|row| f64::from(row.score).to_bits().cast_signed()));
        let done: Vec<_> = plan.chunks.iter().filter(|part| part.is_last).collect();
        let is_early =
            |slot: usize| i64::from(self.samples[slot].as_ref().is_some_and(Sample::is_early));
        let early = upload.add(
            done.iter()
                .map(|part| is_early(part.slot))
                .chain((0..rows.len()).map(|row| is_early(row / beams))),
        );
        let sent = upload.send(self.model.device)?;

        let mut states = Vec::new();
        for (part, ids) in plan.chunks.iter().zip(parts) {
            let state =
                self.model.prefill(&self.cache, sent.get(ids)?, part.slot * beams, part.start)?;
            if part.is_last {
                states.push(state);
            }
        }
        if !rows.is_empty() {
            if let Some((start, end)) = sample::moved(&rows) {
                self.model.reorder(&self.cache, sent.get(source)?, start, end)?;
            }
            let (ids, positions) = (sent.get(ids)?, sent.get(positions)?);
            states.push(self.model.decode(&self.cache, ids, positions, plan.length)?);
        }
        if states.is_empty() {
            return Ok(None);
        }
        let early = sent.get(early)?.f_ne(0)?;
        let states = States { states: Tensor::f_cat(&states, 0)?, early };
        if beams == 1 {
            let ids = self.model.choose(states, &self.ends)?.f_to_device(Device::Cpu)?;
            return Ok(Some(Chosen::Ids(Vec::try_from(&ids)?)));
        }
        let scores = sent.get(scores)?.f_view_dtype(Kind::Double)?.f_to_kind(Kind::Float)?;
        self.candidates(states, done.len(), scores).map(Some)
    }

    /// The best continuations: of the prompts that are done, each with one row, and of the rows that beams share, whose
    /// scores are given.
    fn candidates(&self, all: States, done: usize, scores: Tensor) -> Result<Chosen, Failure> {
        let (beams, keep) = (self.model.limits.beams, self.model.limits.candidates());
        let fresh = Tensor::f_zeros([done as i64], (Kind::Float, self.model.device))?;
        let (mut found, mut start) = (Vec::new(), 0);
        for (scores, width) in [(fresh, 1), (scores, beams)] {
            let count = scores.numel() as i64;
            if count > 0 {
                let states = all.states.f_narrow(0, start, count)?;
                let part = States { states, early: all.early.f_narrow(0, start, count)? };
                found.push(self.model.candidates(part, scores, &self.ends, width, keep)?);
            }
            start += count;
        }
        let found = Tensor::f_cat(&found, 1)?.f_to_device(Device::Cpu)?.f_flatten(0, -1)?;
        let numbers = Vec::<f64>::try_from(&found)?;
        let (scores, which) = numbers.split_at(numbers.len() / 2);
        let vocabulary = self.model.limits.vocabulary;
        let candidates = scores.iter().zip(which).map(|(&score, &which)| {
            let which = which as usize;
            let (beam, id) = (which / vocabulary, (which % vocabulary) as i32);
            Candidate { score: score as f32, beam, id }
        });
        Ok(Chosen::Candidates(candidates.collect()))
    }

    /// Shows that a sample went on, though there is no id yet.
    fn goes_on(&mut self, slot: usize) {
        if let Some(sample) = &self.samples[slot] {
            self.events.push(Event { sample: sample.number, ids: 0..0, is_last: false });
        }
    }

    /// Gives a sample its next token, or its beams theirs.
    fn take(&mut self, slot: usize, chosen: &Chosen, place: usize) {
        let limits = &self.model.limits;
        let Some(sample) = &mut self.samples[slot] else { return };
        sample.given += 1;
        let start = self.ids.len();
        let is_last = match (&mut sample.search, chosen) {
            (Search::Greedy(last), Chosen::Ids(ids)) => {
                *last = ids[place] as i32;
                self.ids.push(*last);
                sample.given >= sample.most || limits.ends.contains(last)
            }
            (Search::Beams(beams), Chosen::Candidates(all)) => {
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
        let event = Event { sample: sample.number, ids: start..self.ids.len(), is_last };
        self.events.push(event);
        if is_last {
            self.leave(slot);
        }
    }
}

/// What a step found, in the order of its states.
enum Chosen {
    Ids(Vec<i64>),
    /// `Limits::candidates` for each.
    Candidates(Vec<Candidate>),
}
