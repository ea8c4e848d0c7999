//! Assigns slots to samples, and plans the work of each step (continuous batching). Plans contain
//! no tensors.
//!
//! The cache has a row of positions for each slot. A step first computes one token for every sample
//! whose prompt is complete, then parts of waiting prompts. The tokens are computed for all slots
//! up to the last one with such a sample. Slots in between without such a sample write, too, at
//! their next unwritten position. Parts of prompts or a later step overwrite that position.

use std::{collections::VecDeque, iter};

/// Multiple to which the number of positions that a step attends to is rounded up, so that steps
/// have few shapes.
const LENGTHS: usize = 64;

/// Multiple to which the number of rows of a step is rounded up, if it is larger than this.
const ROWS: usize = 4;

/// A part of a prompt, from position `start` to `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) slot: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Set for the last part of a prompt; a token follows it.
    pub(super) is_last: bool,
}

/// Work of a slot when a step computes one token for each sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlotRow {
    /// Position that the slot writes to.
    pub(super) position: usize,
    /// Set if the slot has a sample with a complete prompt. Results of other slots are discarded.
    pub(super) runs: bool,
}

/// Rows of the first slots. A step computes one token in each row.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Rows by slot; empty if no prompt is complete.
    pub(super) rows: Vec<SlotRow>,
    /// Number of positions that the rows attend to.
    pub(super) length: usize,
}

#[derive(Debug)]
struct ScheduledSample {
    number: u64,
    /// Length of the prompt.
    prompt: usize,
    /// Number of written positions.
    written: usize,
}

#[derive(Debug)]
pub(super) struct Schedule {
    slots: Vec<Option<ScheduledSample>>,
    /// Slots with incomplete prompts, oldest first.
    waiting: VecDeque<usize>,
    /// Maximum number of prompt tokens in a step.
    chunk: usize,
    /// Number of positions of a slot.
    room: usize,
}

impl Schedule {
    pub(super) fn new(slots: usize, chunk: usize, room: usize) -> Self {
        let slots = (0..slots).map(|_| None).collect();
        Self { slots, waiting: VecDeque::new(), chunk, room }
    }

    /// Assigns the lowest free slot to a sample with a prompt of `prompt` tokens. Returns the slot,
    /// or `None` if all are in use.
    pub(super) fn admit(&mut self, number: u64, prompt: usize) -> Option<usize> {
        let slot = self.slots.iter().position(Option::is_none)?;
        self.slots[slot] = Some(ScheduledSample { number, prompt, written: 0 });
        self.waiting.push_back(slot);
        Some(slot)
    }

    pub(super) fn slot_of(&self, number: u64) -> Option<usize> {
        let is =
            |slot: &Option<ScheduledSample>| slot.as_ref().is_some_and(|it| it.number == number);
        self.slots.iter().position(is)
    }

    /// Frees a slot.
    pub(super) fn leave(&mut self, slot: usize) {
        self.slots[slot] = None;
        self.waiting.retain(|&other| other != slot);
    }

    /// Plans a token for every sample with a complete prompt whose slot `goes_on` accepts. The
    /// planned positions count as written from now on.
    pub(super) fn rows(&mut self, goes_on: impl Fn(usize) -> bool) -> Rows {
        let is_done = |slot: &Option<ScheduledSample>| {
            slot.as_ref().is_some_and(|it| it.written >= it.prompt)
        };
        let running: Vec<_> =
            self.slots.iter().enumerate().map(|(at, slot)| is_done(slot) && goes_on(at)).collect();
        let Some(last) = running.iter().rposition(|&runs| runs) else { return Rows::default() };
        let count = rows(last + 1).min(self.slots.len());
        let mut planned = Rows { rows: Vec::with_capacity(count), length: 0 };
        for (slot, runs) in self.slots.iter_mut().zip(running).take(count) {
            let position = slot.as_ref().map_or(0, |it| it.written);
            if let (true, Some(sample)) = (runs, slot) {
                sample.written += 1;
                planned.length = planned.length.max(sample.written);
            }
            planned.rows.push(SlotRow { position, runs });
        }
        planned.length = room_for(planned.length).min(self.room);
        planned
    }

    /// Plans parts of the waiting prompts, oldest first. The planned positions count as written
    /// from now on. Only the first prompt of a step is divided. A step therefore has either a
    /// single incomplete part, or only parts that end their prompts.
    pub(super) fn chunks(&mut self) -> Vec<Chunk> {
        let (mut chunks, mut left) = (Vec::new(), self.chunk);
        while let Some(&slot) = self.waiting.front() {
            let Some(sample) = &mut self.slots[slot] else { break };
            let (start, rest) = (sample.written, sample.prompt - sample.written);
            if rest > left && !chunks.is_empty() {
                break;
            }
            let end = start + rest.min(left);
            let is_last = end == sample.prompt;
            chunks.push(Chunk { slot, start, end, is_last });
            sample.written = end;
            left -= end - start;
            if !is_last {
                break;
            }
            self.waiting.pop_front();
        }
        chunks
    }
}

/// Returns the number of rows that a step computes to include the first `slots` slots.
fn rows(slots: usize) -> usize {
    if slots <= ROWS { slots } else { slots.next_multiple_of(ROWS) }
}

/// Returns all shapes that [`Rows`] can have, as pairs of the number of rows and the length.
pub(super) fn shapes(slots: usize, room: usize) -> Vec<(usize, usize)> {
    let lengths = (1..=room.div_ceil(LENGTHS)).map(|count| (count * LENGTHS).min(room));
    row_counts(slots)
        .into_iter()
        .flat_map(|count| lengths.clone().map(move |l| (count, l)))
        .collect()
}

/// Returns every number of rows that a step may compute.
fn row_counts(slots: usize) -> Vec<usize> {
    let mut counts: Vec<_> = (1..=slots).map(|count| rows(count).min(slots)).collect();
    counts.dedup();
    counts
}

/// Returns the lengths of prompts to warm up besides `largest`: the powers of two below it.
pub(super) fn prompt_lengths(largest: usize) -> impl Iterator<Item = usize> {
    iter::successors(Some(1_usize), |length| length.checked_mul(2))
        .take_while(move |length| *length < largest)
}

/// Returns the number of positions that a slot needs for `tokens` tokens.
pub(super) fn room_for(tokens: usize) -> usize {
    tokens.next_multiple_of(LENGTHS)
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    /// A cache that records each write: the sample and its position.
    struct WriteRecord {
        rows: Vec<Vec<Option<(u64, usize)>>>,
    }

    /// A sample in flight, as the caller sees it.
    struct ActiveSample {
        number: u64,
        slot: usize,
        prompt: usize,
        output: usize,
        given: usize,
    }

    impl WriteRecord {
        fn write(&mut self, slot: usize, position: usize, what: Option<u64>) {
            self.rows[slot][position] = what.map(|number| (number, position));
        }

        /// Writes the positions that rows compute. The samples of running rows must have written
        /// all earlier positions.
        fn decode(&mut self, rows: &Rows, under: &[ActiveSample], shapes: &[(usize, usize)]) {
            if rows.rows.is_empty() {
                return;
            }
            assert!(shapes.contains(&(rows.rows.len(), rows.length)), "every shape is warmed up");
            for (slot, row) in rows.rows.iter().enumerate() {
                let sample = under.iter().find(|it| it.slot == slot && row.runs);
                self.write(slot, row.position, sample.map(|it| it.number));
            }
            for (slot, row) in rows.rows.iter().enumerate().filter(|(_, row)| row.runs) {
                let sample = under.iter().find(|it| it.slot == slot).unwrap();
                assert_eq!(row.position, sample.prompt + sample.given - 1);
                assert!(row.position < rows.length);
                assert!(
                    self.holds(slot, sample.number, row.position + 1),
                    "others write elsewhere"
                );
            }
        }

        /// Returns true if a slot holds only this sample below `end`.
        fn holds(&self, slot: usize, number: u64, end: usize) -> bool {
            self.rows[slot][..end].iter().enumerate().all(|(at, it)| *it == Some((number, at)))
        }
    }

    /// Runs samples that arrive, end and are cancelled at random, and checks the invariants of each
    /// step. With `ahead`, the rows of a step are planned and computed at the end of the previous
    /// step.
    fn run(seed: u64, ahead: bool) {
        let mut random = StdRng::seed_from_u64(seed);
        let (slots, chunk) = (1 + random.random_range(0..9), 1 + random.random_range(0..40));
        let (longest, most) = (1 + random.random_range(0..90), 1 + random.random_range(0..70));
        let room = room_for(longest + most);
        let shapes = shapes(slots, room);
        let mut schedule = Schedule::new(slots, chunk, room);
        let mut cache = WriteRecord { rows: vec![vec![None; room]; slots] };
        let mut under: Vec<ActiveSample> = Vec::new();
        let mut begun: Option<Rows> = None;
        let (mut next, mut ended, mut waited) = (0, 0, 0);
        while ended < 60 {
            while under.len() < slots && next < 60 && random.random_range(0..3) > 0 {
                let (prompt, output) =
                    (1 + random.random_range(0..longest), 1 + random.random_range(0..most));
                let lowest = (0..slots).find(|slot| under.iter().all(|it| it.slot != *slot));
                assert_eq!(schedule.admit(next, prompt), lowest);
                let slot = lowest.unwrap();
                assert_eq!(schedule.slot_of(next), Some(slot));
                under.push(ActiveSample { number: next, slot, prompt, output, given: 0 });
                next += 1;
            }
            if under.len() == slots {
                assert_eq!(schedule.admit(999, 1), None);
            }
            let running: Vec<_> =
                under.iter().filter(|it| it.given > 0).map(|it| it.slot).collect();
            let is_waiting = running.len() < under.len();

            let runs = |rows: &Rows| rows.rows.iter().any(|row| row.runs);
            let rows = begun.take().filter(runs).unwrap_or_else(|| {
                let rows = schedule.rows(|_| true);
                cache.decode(&rows, &under, &shapes);
                rows
            });
            let ran: Vec<_> = (0..rows.rows.len()).filter(|slot| rows.rows[*slot].runs).collect();
            let mut expected = running.clone();
            expected.sort_unstable();
            assert_eq!(ran, expected, "whose prompt was done gets a token in each step");
            let chunks = schedule.chunks();
            let computed: usize = chunks.iter().map(|it| it.end - it.start).sum();
            assert!(computed <= chunk);
            assert_eq!(chunks.is_empty(), !is_waiting, "prompts go on in each step");
            let is_done = !is_waiting || chunks.iter().any(|it| it.is_last);
            waited = if is_done { 0 } else { waited + 1 };
            assert!(waited < longest.div_ceil(chunk), "a prompt gets done");
            for part in &chunks {
                let sample = under.iter().find(|it| it.slot == part.slot).unwrap();
                assert!(
                    cache.holds(part.slot, sample.number, part.start),
                    "a prompt is written in order"
                );
                for position in part.start..part.end {
                    cache.write(part.slot, position, Some(sample.number));
                }
                assert_eq!(part.is_last, part.end == sample.prompt);
            }
            let given = |slot: usize| {
                rows.rows.get(slot).is_some_and(|row| row.runs)
                    || chunks.iter().any(|it| it.slot == slot && it.is_last)
            };
            under.iter_mut().for_each(|it| it.given += usize::from(given(it.slot)));
            if ahead {
                let goes_on = |slot: usize| {
                    under.iter().any(|it| it.slot == slot && it.given > 0 && it.given < it.output)
                };
                let rows = schedule.rows(goes_on);
                cache.decode(&rows, &under, &shapes);
                begun = Some(rows);
            }
            let cancelled = (random.random_range(0..8) == 0 && !under.is_empty())
                .then(|| random.random_range(0..under.len()));
            let mut place = 0;
            under.retain(|it| {
                // Some samples end unexpectedly.
                let ends = it.given == it.output
                    || it.given > 0 && it.number % 3 == 0 && it.given > it.output / 2
                    || cancelled == Some(place);
                place += 1;
                if ends {
                    schedule.leave(it.slot);
                    if let Some(row) = begun.as_mut().and_then(|it2| it2.rows.get_mut(it.slot)) {
                        row.runs = false;
                    }
                    (ended, waited) = (ended + 1, 0);
                }
                !ends
            });
        }
        assert!(under.is_empty() && schedule.rows(|_| true).rows.is_empty());
    }

    #[test]
    fn in_any_order_of_samples_every_token_sees_its_own_sample_and_nothing_else() {
        for seed in 0..500 {
            run(seed, false);
            run(seed, true);
        }
    }

    #[test]
    fn prompts_share_a_step_and_only_the_first_is_divided() {
        let mut schedule = Schedule::new(4, 10, 64);
        for (number, prompt) in [(0, 14), (1, 3), (2, 5), (3, 2)] {
            schedule.admit(number, prompt);
        }
        let part = |slot, start, end, is_last| Chunk { slot, start, end, is_last };
        assert_eq!(schedule.chunks(), [part(0, 0, 10, false)]);
        // Three tokens are left for slot 2, which has five. It is not divided, and slot 3 does not
        // overtake it.
        assert_eq!(schedule.chunks(), [part(0, 10, 14, true), part(1, 0, 3, true)]);
        let rows = schedule.rows(|_| true).rows;
        assert_eq!(rows.iter().map(|row| row.position).collect::<Vec<_>>(), [14, 3]);
        assert_eq!(schedule.chunks(), [part(2, 0, 5, true), part(3, 0, 2, true)]);
        let rows = schedule.rows(|slot| slot != 3).rows;
        assert_eq!(rows.iter().map(|row| row.position).collect::<Vec<_>>(), [15, 4, 5]);
    }

    #[test]
    fn shapes_are_few() {
        assert_eq!(row_counts(13), [1, 2, 3, 4, 8, 12, 13]);
        assert_eq!((room_for(1), room_for(64), room_for(65)), (64, 64, 128));
        assert_eq!(shapes(2, 128), [(1, 64), (1, 128), (2, 64), (2, 128)]);
        assert_eq!(prompt_lengths(48).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
        assert_eq!(prompt_lengths(512).max(), Some(256), "the largest has more runs");
    }
}
