//! A single direction of a wire, which decides the fate of each piece: a datagram, or the bytes of
//! one read from TCP. The caller passes the current time.

use std::{
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::sync::watch;

use super::{Counts, Faults};

/// Maximum queue of a slow link, as the time to drain it. A longer queue would delay a heartbeat
/// beyond its timeout.
pub(super) const QUEUE: Duration = Duration::from_millis(100);

/// Delay of a datagram that later datagrams overtake: longer than a burst, shorter than a timeout.
const OVERTAKEN: Duration = Duration::from_millis(5);

/// Fate of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    /// Time of arrival.
    pub(super) due: Instant,
    /// Set if the piece is lost at random.
    pub(super) lost: bool,
    /// Set if a datagram is dropped: the wire is cut, or the link's queue is full.
    pub(super) dropped: bool,
    /// Set if a datagram is sent twice.
    pub(super) twice: bool,
    /// Set if nothing follows the piece.
    pub(super) last: bool,
}

/// A single direction of a wire.
pub(super) struct WireDirection {
    /// Pieces are datagrams, which a full link drops; TCP's pieces wait.
    datagrams: bool,
    faults: watch::Sender<Faults>,
    state: Mutex<DirectionState>,
}

struct DirectionState {
    random: StdRng,
    counts: Counts,
    /// Numbers of bytes and pieces that passed before the current faults were set.
    before: (u64, u64),
    /// Time at which the slow link has sent all that it accepted.
    link_free: Option<Instant>,
    /// Arrival of the last piece that keeps the order.
    last_due: Option<Instant>,
}

impl WireDirection {
    pub(super) fn new(datagrams: bool, seed: u64) -> Self {
        let state = DirectionState {
            random: StdRng::seed_from_u64(seed),
            counts: Counts::default(),
            before: (0, 0),
            link_free: None,
            last_due: None,
        };
        Self { datagrams, faults: watch::Sender::new(Faults::none()), state: Mutex::new(state) }
    }

    pub(super) fn set(&self, faults: Faults) {
        let mut state = self.state();
        state.before = (state.counts.bytes, state.counts.pieces);
        // The lock is held: no piece's fate is decided in between.
        self.faults.send_replace(faults);
    }

    pub(super) fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Waits until the wire is not cut.
    pub(super) async fn wait_until_uncut(&self) {
        if self.faults.borrow().cut {
            // We own the sender, so this cannot fail.
            let _ = self.faults.subscribe().wait_for(|faults| !faults.cut).await;
        }
    }

    /// Returns the maximum length of a read, in bytes: `longest`, or the number of bytes that a
    /// slow link sends in a tenth of [`QUEUE`], if that is less.
    pub(super) fn piece_bytes(&self, longest: usize) -> usize {
        let rate = self.faults.borrow().bytes_per_second;
        rate.map_or(longest, |rate| (rate as usize / 100).clamp(1, longest))
    }

    /// Returns the time at which the slow link's queue has room again.
    pub(super) fn room_at(&self) -> Option<Instant> {
        self.faults.borrow().bytes_per_second?;
        self.state().link_free?.checked_sub(QUEUE)
    }

    /// Decides the fate of a piece that arrives now, and applies faults to its bytes.
    pub(super) fn pass(&self, piece: &mut Vec<u8>, now: Instant) -> Fate {
        let mut state = self.state();
        let faults = *self.faults.borrow();
        let from = state.counts.bytes - state.before.0;
        let number = state.counts.pieces - state.before.1 + 1;
        state.counts.bytes += piece.len() as u64;
        state.counts.pieces += 1;
        let DirectionState { random, counts, link_free, last_due, .. } = &mut *state;

        let place = |at: u64| at.checked_sub(from).filter(|at| *at < piece.len() as u64);
        let last = faults.truncate_at.and_then(place);
        let flip_at = faults.flip_at.and_then(place);
        let flip_any = faults.flip_every.is_some_and(|n| number.is_multiple_of(n.max(1)));
        let any = || (!piece.is_empty()).then(|| random.random_range(0..piece.len() as u64));
        if let Some(at) = flip_at.or_else(|| flip_any.then(any).flatten()) {
            piece[at as usize] ^= 1 << random.random_range(0..8);
            counts.flipped += 1;
        }
        if let Some(at) = last {
            piece.truncate(at as usize);
            counts.truncated += 1;
        }

        let mut due = now;
        let mut dropped = self.datagrams && faults.cut;
        if let Some(rate) = faults.bytes_per_second {
            let begin = link_free.map_or(now, |free| free.max(now));
            dropped |= self.datagrams && begin > now + QUEUE;
            due = begin + Duration::from_secs_f64(piece.len() as f64 / rate.max(1) as f64);
            if !dropped {
                *link_free = Some(due);
            }
        }
        due += faults.delay + faults.jitter.mul_f64(random.random());
        due = last_due.map_or(due, |last| last.max(due));
        let mut chance = |probability: f64| probability > 0.0 && random.random_bool(probability);
        let lost = chance(faults.loss);
        let (twice, overtaken) = (chance(faults.duplicate), chance(faults.reorder));
        if overtaken {
            due += OVERTAKEN;
        } else {
            *last_due = Some(due);
        }
        counts.lost += u64::from(lost);
        counts.dropped += u64::from(dropped);
        counts.duplicated += u64::from(twice);
        counts.reordered += u64::from(overtaken);
        Fate { due, lost, dropped, twice, last: last.is_some() }
    }

    fn state(&self) -> MutexGuard<'_, DirectionState> {
        self.state.lock().expect("no holder panics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Passes 1,000 pieces of 100 zeros, one each millisecond.
    fn pass(faults: Faults) -> (Vec<(Fate, Vec<u8>)>, Instant, Counts) {
        let (way, begin) = (WireDirection::new(true, 7), Instant::now());
        way.set(faults);
        let piece = |number: u32| {
            let mut piece = vec![0; 100];
            let fate = way.pass(&mut piece, begin + number * MS);
            (fate, piece)
        };
        ((0..1000).map(piece).collect(), begin, way.counts())
    }

    #[test]
    fn a_good_wire_does_nothing() {
        let (pieces, begin, counts) = pass(Faults::none());
        for (number, (fate, piece)) in pieces.into_iter().enumerate() {
            let due = begin + number as u32 * MS;
            let good = Fate { due, lost: false, dropped: false, twice: false, last: false };
            assert_eq!((fate, piece), (good, vec![0; 100]));
        }
        assert_eq!(counts, Counts { bytes: 100_000, pieces: 1000, ..Counts::default() });
    }

    #[test]
    fn pieces_are_delayed_in_order() {
        let (pieces, begin, _) = pass(Faults { delay: 50 * MS, jitter: 20 * MS, ..Faults::none() });
        let delays: Vec<_> =
            (0..).zip(&pieces).map(|(n, (fate, _))| fate.due - begin - n * MS).collect();
        assert!(delays.iter().all(|delay| (50 * MS..70 * MS).contains(delay)), "{delays:?}");
        assert!(delays.iter().any(|delay| *delay < 55 * MS), "{delays:?}");
        assert!(delays.iter().any(|delay| *delay > 65 * MS), "{delays:?}");
        assert!(pieces.is_sorted_by_key(|(fate, _)| fate.due));
    }

    #[test]
    fn a_slow_link_passes_its_rate_and_drops_the_rest() {
        // 100 bytes arrive each millisecond, and 50 pass.
        let (pieces, begin, counts) =
            pass(Faults { bytes_per_second: Some(50_000), ..Faults::none() });
        let passed: Vec<_> =
            pieces.iter().filter(|(fate, _)| !fate.dropped).map(|(fate, _)| fate.due).collect();
        assert_eq!(passed.len() as u64 + counts.dropped, 1000);
        // The rate over a second, and the queue at its end.
        assert!((540..560).contains(&passed.len()), "{} passed", passed.len());
        assert!(passed[passed.len() - 1] - begin <= 1000 * MS + QUEUE + 2 * MS);
        assert!(passed.windows(2).all(|due| due[1] - due[0] >= 2 * MS), "{passed:?}");
    }

    #[test]
    fn chances_are_what_they_say_and_the_same_for_a_seed() {
        let faults = Faults { loss: 0.1, duplicate: 0.2, reorder: 0.3, ..Faults::none() };
        let (pieces, begin, counts) = pass(faults);
        let count = |is: fn(&Fate) -> bool| pieces.iter().filter(|(fate, _)| is(fate)).count();
        assert!((70..130).contains(&count(|fate| fate.lost)));
        assert!((160..240).contains(&count(|fate| fate.twice)));
        let overtaken =
            (0..).zip(&pieces).filter(|(n, (fate, _))| fate.due == begin + *n * MS + OVERTAKEN);
        assert_eq!(overtaken.count() as u64, counts.reordered);
        assert!((250..350).contains(&counts.reordered));
        assert_eq!(counts, pass(faults).2);
    }

    #[test]
    fn single_bits_are_flipped() {
        let ones = |piece: &[u8]| piece.iter().map(|byte| byte.count_ones()).sum::<u32>();
        let (pieces, _, counts) = pass(Faults { flip_every: Some(10), ..Faults::none() });
        for (number, (_, piece)) in (1..).zip(&pieces) {
            assert_eq!(ones(piece), u32::from(number % 10 == 0), "piece {number}");
        }
        assert_eq!(counts.flipped, 100);
        let (pieces, _, counts) = pass(Faults { flip_at: Some(12_345), ..Faults::none() });
        let bytes: Vec<u8> = pieces.into_iter().flat_map(|(_, piece)| piece).collect();
        assert_eq!((ones(&bytes), bytes[12_345].count_ones(), counts.flipped), (1, 1, 1));
    }

    #[test]
    fn a_message_ends_in_the_middle() {
        let (pieces, _, counts) = pass(Faults { truncate_at: Some(250), ..Faults::none() });
        let last: Vec<_> = pieces.iter().map(|(fate, piece)| (fate.last, piece.len())).collect();
        assert_eq!(last[1..4], [(false, 100), (true, 50), (false, 100)]);
        assert_eq!(counts.truncated, 1);
    }
}
