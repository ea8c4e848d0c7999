//! When a batch closes: by size, by the age of its oldest sample, or by a flush. The time is passed in.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Something with an arrival time.
pub(crate) trait Arrived {
    fn arrived(&self) -> Instant;
}

/// What an idle engine should do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    /// Run this batch.
    Batch(Vec<T>),
    /// Wait for more samples, but not beyond this time.
    WaitUntil(Instant),
    /// Wait for a sample.
    Wait,
}

/// Samples in order of arrival. The batch is formed when an engine asks, as late as possible.
#[derive(Debug)]
pub(crate) struct Batcher<T> {
    max_batch: usize,
    max_age: Duration,
    queue: VecDeque<T>,
    /// Samples at the front that must not wait for company.
    flushed: usize,
}

impl<T: Arrived> Batcher<T> {
    pub(crate) fn new(max_batch: usize, max_age: Duration) -> Self {
        Self { max_batch: max_batch.max(1), max_age, queue: VecDeque::new(), flushed: 0 }
    }

    pub(crate) fn push(&mut self, samples: impl IntoIterator<Item = T>) {
        self.queue.extend(samples);
    }

    /// What is here now goes out without waiting.
    pub(crate) fn flush(&mut self) {
        self.flushed = self.queue.len();
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn next(&mut self, now: Instant) -> Next<T> {
        let Some(oldest) = self.queue.front() else { return Next::Wait };
        let deadline = oldest.arrived() + self.max_age;
        if self.queue.len() < self.max_batch && self.flushed == 0 && now < deadline {
            return Next::WaitUntil(deadline);
        }
        let size = self.queue.len().min(self.max_batch);
        self.flushed = self.flushed.saturating_sub(size);
        Next::Batch(self.queue.drain(..size).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Sample(usize, Instant);

    impl Arrived for Sample {
        fn arrived(&self) -> Instant {
            self.1
        }
    }

    const AGE: Duration = Duration::from_millis(5);

    #[test]
    fn a_batch_closes_by_size_by_age_or_by_flush() {
        let start = Instant::now();
        let mut batcher = Batcher::new(3, AGE);
        assert_eq!(batcher.next(start), Next::Wait);

        batcher.push([Sample(0, start), Sample(1, start)]);
        assert_eq!(batcher.next(start), Next::WaitUntil(start + AGE));
        batcher.push([Sample(2, start), Sample(3, start)]);
        let full = Next::Batch(vec![Sample(0, start), Sample(1, start), Sample(2, start)]);
        assert_eq!(batcher.next(start), full);

        assert_eq!(batcher.next(start), Next::WaitUntil(start + AGE));
        assert_eq!(batcher.next(start + AGE), Next::Batch(vec![Sample(3, start)]));

        batcher.push([Sample(4, start)]);
        batcher.flush();
        batcher.push([Sample(5, start)]);
        let flushed = Next::Batch(vec![Sample(4, start), Sample(5, start)]);
        assert_eq!(batcher.next(start), flushed, "company that is here already may come along");
        batcher.push([Sample(6, start)]);
        assert_eq!(batcher.next(start), Next::WaitUntil(start + AGE), "a flush is used up");
    }

    proptest! {
        #[test]
        fn every_sample_leaves_once_in_order_and_in_time(
            steps in proptest::collection::vec((0_usize..5, 0_u64..4, any::<bool>()), 1..100),
        ) {
            let mut now = Instant::now();
            let mut batcher = Batcher::new(4, AGE);
            let (mut pushed, mut left) = (0, 0);
            for (count, pause_ms, flush) in steps {
                batcher.push((pushed..pushed + count).map(|n| Sample(n, now)));
                pushed += count;
                if flush {
                    batcher.flush();
                }
                now += Duration::from_millis(pause_ms);
                while let Next::Batch(batch) = batcher.next(now) {
                    prop_assert!(!batch.is_empty() && batch.len() <= 4);
                    for sample in batch {
                        prop_assert_eq!(sample.0, left);
                        left += 1;
                    }
                }
                if flush {
                    prop_assert_eq!(batcher.len(), 0);
                }
                if let Next::WaitUntil(deadline) = batcher.next(now) {
                    prop_assert!(deadline > now && deadline <= now + AGE);
                }
            }
            batcher.flush();
            while let Next::Batch(batch) = batcher.next(now) {
                left += batch.len();
            }
            prop_assert_eq!(left, pushed);
        }
    }
}
