//! Computes a step on the device: sends its numbers there, runs the model, and fetches the results.

use std::iter;

use tch::{Device, IValue, Kind, Tensor};

use super::{
    beams::Candidate,
    cache::Cache,
    exchange::{Exchange, Upload},
    model::{LanguageModel, Parts, States},
    package::Decoded,
    sample::{self, Sample},
    schedule::{self, Chunk, Rows},
};
use crate::{failure::Failure, stream::Stream};

/// The work of a step.
#[derive(Default)]
pub(super) struct Plan {
    /// Rows that receive a token.
    pub(super) rows: Rows,
    /// Result for these rows, if the previous step began them.
    pub(super) begun: Option<Decoded>,
    /// Parts of prompts to compute. Either each part is the last of its prompt, or none is.
    pub(super) chunks: Vec<Chunk>,
    /// Rows of the next step, which this step begins with ids that are still on the device.
    pub(super) next: Rows,
}

impl Plan {
    /// Returns the slots whose prompts are complete after this step.
    pub(super) fn done(&self) -> impl Iterator<Item = usize> {
        self.chunks.iter().filter(|part| part.is_last).map(|part| part.slot)
    }

    /// Returns the slots in the order of the step's results, and whether each receives a token.
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, bool)> {
        let rows = self.rows.rows.iter().enumerate().map(|(slot, row)| (slot, row.runs));
        self.done().map(|slot| (slot, true)).chain(rows)
    }
}

/// Ids or candidates that a step chose, in the order of [`Plan::slots`].
pub(super) enum StepChoice {
    Ids(Vec<i64>),
    /// Candidates for beam searches: `Limits::candidates` for each slot.
    Candidates(Vec<Candidate>),
}

#[derive(Default)]
pub(super) struct StepResult {
    /// Ids or candidates; `None` if no slot was to receive a token.
    pub(super) chosen: Option<StepChoice>,
    /// Result for the rows of the next step, if this step began them.
    pub(super) begun: Option<Decoded>,
}

/// Computes the steps of an instance with its model, stream and cache.
pub(super) struct Computer<'a> {
    pub(super) model: &'a LanguageModel,
    pub(super) stream: Stream,
    pub(super) cache: Cache,
    exchange: Exchange,
    /// Ids that end an output, on the device.
    ends: IValue,
}

impl<'a> Computer<'a> {
    /// Creates the instance's cache. `stream` must be this thread's current stream.
    pub(super) fn new(model: &'a LanguageModel, stream: Stream) -> Result<Self, Failure> {
        let (limits, room) = (&model.limits, model.room());
        let place = (model.kind, model.device);
        let cache =
            Cache::new(&model.sizes, limits.slots, limits.beams, room, limits.cache_bytes, place)?;
        let ends: Vec<i64> = limits.ends.iter().map(|&end| end.into()).collect();
        let ends = IValue::Tensor(Tensor::f_from_slice(&ends)?.f_to_device(model.device)?);
        let exchange = Exchange::new(model.device);
        Ok(Self { model, stream, cache, exchange, ends })
    }

    /// Computes a step. `samples` are indexed by slot. The stream must be this thread's current
    /// one.
    pub(super) fn run(
        &mut self,
        plan: &Plan,
        samples: &[Option<Sample>],
    ) -> Result<StepResult, Failure> {
        let (model, beams) = (self.model, self.model.limits.beams);
        let mut upload = Upload::default();
        let prompt = |part: &Chunk| {
            let ids = samples[part.slot].as_ref().map(|it| &it.prompt);
            (part.start..part.end).map(move |at| ids.map_or(0, |ids| ids[at].into()))
        };
        let prompts = upload.add(plan.chunks.iter().flat_map(prompt));
        let places = upload.add(plan.chunks.iter().flat_map(|it| it.start as i64..it.end as i64));
        let mut decoded = plan.begun.as_ref().map(Decoded::shallow_clone);
        let rows = if decoded.is_some() { Vec::new() } else { fresh(&plan.rows, samples, beams) };
        let ids = upload.add(rows.iter().map(|row| row.id.into()));
        let positions = upload.add(rows.iter().map(|row| row.position as i64));
        let source = upload.add(rows.iter().map(|row| row.source as i64));
        let scores =
            upload.add(rows.iter().map(|row| f64::from(row.score).to_bits().cast_signed()));
        let early = early(plan, samples, beams).map(|early| upload.add(early));
        let sources = upload.add(sources(plan));
        let targets = upload.add(plan.next.rows.iter().map(|row| row.position as i64));
        let sent = self.exchange.send(&upload, &self.stream)?;

        if !rows.is_empty() {
            if let Some((start, end)) = sample::moved(&rows) {
                model.reorder(&self.cache, sent.get(source)?, start, end)?;
            }
            let (ids, positions) = (sent.get(ids)?, sent.get(positions)?);
            decoded = Some(model.decode(&self.cache, ids, positions, plan.rows.length)?);
        }
        let mut complete = None;
        if !plan.chunks.is_empty() {
            let parts = parts(&plan.chunks, beams, sent.get(prompts)?, sent.get(places)?);
            let last = model.prefill(&self.cache, parts)?;
            complete = plan.done().next().is_some().then_some(last);
        }
        let states = complete.iter().chain(decoded.as_ref().map(|decoded| &decoded.states));
        let states: Vec<_> = states.collect();
        if states.is_empty() {
            self.stream.mark()?;
            return Ok(StepResult::default());
        }
        let early = early.map(|early| sent.get(early)?.f_ne(0).map_err(Failure::from));
        let states = match states.as_slice() {
            [one] => one.shallow_clone(),
            several => Tensor::f_cat(several, 0)?,
        };
        // A package does not know which tokens must not end an output.
        let chosen = decoded.and_then(|decoded| decoded.ids).filter(|_| early.is_none());
        let states = States { states, early: early.transpose()? };
        if beams > 1 {
            let scores = sent.get(scores)?.f_view_dtype(Kind::Double)?.f_to_kind(Kind::Float)?;
            let chosen = self.candidates(&states, plan.done().count(), scores)?;
            self.stream.mark()?;
            return Ok(StepResult { chosen: Some(chosen), begun: None });
        }
        let ids = match (chosen, complete) {
            (None, _) => model.choose(&states, &self.ends)?,
            (Some(ids), None) => ids,
            (Some(ids), Some(complete)) => {
                let complete = States { states: complete, early: None };
                Tensor::f_cat(&[model.choose(&complete, &self.ends)?, ids], 0)?
            }
        };
        let fetched = self.exchange.fetch(&ids)?;
        self.stream.mark()?;
        let begun = match plan.next.length {
            0 => None,
            length => {
                let ids = ids.f_index_select(0, &sent.get(sources)?)?;
                Some(model.decode(&self.cache, ids, sent.get(targets)?, length)?)
            }
        };
        self.stream.wait()?;
        Ok(StepResult { chosen: Some(StepChoice::Ids(Vec::try_from(&fetched)?)), begun })
    }

    /// Returns the best continuations after the states `all`: first for each of the `done` prompts
    /// that are complete now, with one state each, then for each group of running beams. `scores`
    /// are the running beams' scores so far.
    fn candidates(&self, all: &States, done: usize, scores: Tensor) -> Result<StepChoice, Failure> {
        let (beams, keep) = (self.model.limits.beams, self.model.limits.candidates());
        let new = Tensor::f_zeros([done as i64], (Kind::Float, self.model.device))?;
        let (mut found, mut start) = (Vec::new(), 0);
        for (scores, width) in [(new, 1), (scores, beams)] {
            let count = scores.numel() as i64;
            if count > 0 {
                let part = all.part(start, count)?;
                found.push(self.model.candidates(&part, scores, &self.ends, width, keep)?);
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
        Ok(StepChoice::Candidates(candidates.collect()))
    }
}

/// Returns the work of the cache's rows, with their last tokens, which the host knows.
fn fresh(rows: &Rows, samples: &[Option<Sample>], beams: usize) -> Vec<sample::CacheRow> {
    let of_slot = |(slot, row): (usize, &schedule::SlotRow)| {
        let sample = samples[slot].as_ref().filter(|_| row.runs);
        sample::rows(sample, slot, row.position, beams)
    };
    rows.rows.iter().enumerate().flat_map(of_slot).collect()
}

/// Returns 1 for each state whose next token must not end its output, and 0 for the others. Returns
/// `None` if every token may end its output.
fn early(plan: &Plan, samples: &[Option<Sample>], beams: usize) -> Option<Vec<i64>> {
    let is_early = |slot: usize| samples[slot].as_ref().is_some_and(Sample::is_early);
    let done = plan.done().map(is_early);
    let rows = plan.rows.rows.iter().enumerate();
    let rows = rows.flat_map(|(slot, row)| iter::repeat_n(row.runs && is_early(slot), beams));
    let early: Vec<_> = done.chain(rows).map(i64::from).collect();
    early.contains(&1).then_some(early)
}

/// Returns for each row of the next step the index of its token among the step's results. A row
/// without a sample uses any index.
fn sources(plan: &Plan) -> Vec<i64> {
    let mut places = vec![0; plan.next.rows.len()];
    for (place, (slot, runs)) in plan.slots().enumerate() {
        if let (true, Some(source)) = (runs, places.get_mut(slot)) {
            *source = place as i64;
        }
    }
    places
}

fn parts(chunks: &[Chunk], beams: usize, ids: Tensor, positions: Tensor) -> Parts {
    let numbers = |number: &dyn Fn(&Chunk) -> usize| {
        chunks.iter().map(|part| number(part) as i64).collect::<Vec<_>>()
    };
    let (rows, starts) = (numbers(&|it| it.slot * beams), numbers(&|it| it.start));
    Parts { ids, positions, rows, starts, counts: numbers(&|it| it.end - it.start) }
}
