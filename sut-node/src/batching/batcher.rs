//! Batch formation: when a batch closes, and which samples it holds. A batch closes by count,
//! tokens, bytes, age of its oldest sample, or flush. The caller passes the time in.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::ground::serialized::microseconds;

/// Properties of a sample that the batcher needs.
pub(crate) trait Batchable {
    fn arrived(&self) -> Instant;

    /// Length in tokens, pairs or another unit of the workload.
    fn length(&self) -> usize;

    /// Size in bytes once decoded.
    fn bytes(&self) -> usize;
}

/// Next step of an idle engine.
pub(crate) enum Next<T> {
    /// Run this batch.
    Batch(Vec<T>),
    /// Wait for more samples, but not beyond this time.
    WaitUntil(Instant),
    /// Wait for a sample.
    Wait,
}

/// Turn of the next batch.
enum Turn {
    /// The first `size` samples of this bucket can go now.
    Ready { bucket: usize, size: usize },
    /// Samples go at this time, even if no others arrive.
    At(Instant),
    /// There is no sample.
    Never,
}

/// Settings of the batcher: the limits of a batch.
#[derive(Debug, Clone, Serialize)]
pub struct BatchLimits {
    /// Maximum number of samples.
    pub max_batch: usize,
    /// Maximum time that a sample waits for other samples to fill up its batch.
    #[serde(rename = "batch_timeout_us", serialize_with = "microseconds")]
    pub timeout: Duration,
    /// Maximum number of tokens, padding included; `None`: no limit.
    #[serde(rename = "max_batch_tokens")]
    pub max_tokens: Option<usize>,
    /// Maximum number of bytes of decoded samples; `None`: no limit.
    #[serde(rename = "max_batch_bytes")]
    pub max_bytes: Option<usize>,
    /// Lengths of the buckets, ascending. A sample runs with samples of its bucket: the first whose
    /// length is at least the sample's. Empty: there are no buckets.
    pub buckets: Vec<usize>,
    /// Set if samples are padded to the longest sample of the batch, or to their bucket. Each
    /// sample then counts with this length. The workload decides this.
    #[serde(skip)]
    pub is_padded: bool,
}

/// Samples in order of arrival, by bucket. A batch is formed as late as possible: when an engine
/// asks for it.
#[derive(Debug)]
pub(crate) struct Batcher<T> {
    rules: BatchLimits,
    /// Queue of each bucket, and a last queue for samples that are longer than all buckets.
    queues: Vec<Queue<T>>,
}

#[derive(Debug)]
struct Queue<T> {
    samples: VecDeque<T>,
    /// Number of samples at the front that must not wait for other samples.
    flushed: usize,
}

impl<T: Batchable> Batcher<T> {
    pub(crate) fn new(rules: BatchLimits) -> Self {
        let queue = |_| Queue { samples: VecDeque::new(), flushed: 0 };
        Self { queues: (0..=rules.buckets.len()).map(queue).collect(), rules }
    }

    pub(crate) fn push(&mut self, samples: impl IntoIterator<Item = T>) {
        if self.rules.buckets.is_empty() {
            return self.queues[0].samples.extend(samples);
        }
        for sample in samples {
            let bucket = self.rules.buckets.partition_point(|longest| *longest < sample.length());
            self.queues[bucket].samples.push_back(sample);
        }
    }

    /// Lets all queued samples go without waiting for other samples.
    pub(crate) fn flush(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.flushed = queue.samples.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.samples.len()).sum()
    }

    /// Returns the next batch, of at most `room` samples, or the time until which the caller must
    /// wait. If the batches of several buckets are ready, returns the batch whose first sample is
    /// the oldest.
    pub(crate) fn next(&mut self, now: Instant, room: usize) -> Next<T> {
        let (bucket, size) = match self.turn(now) {
            Turn::Ready { bucket, size } => (bucket, size.min(room)),
            Turn::At(deadline) => return Next::WaitUntil(deadline),
            Turn::Never => return Next::Wait,
        };
        let queue = &mut self.queues[bucket];
        queue.flushed = queue.flushed.saturating_sub(size);
        Next::Batch(queue.samples.drain(..size).collect())
    }

    /// Returns true if a batch can go now.
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        matches!(self.turn(now), Turn::Ready { .. })
    }

    /// Returns the arrival of the oldest sample, on which the time of the next batch depends.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.queues.iter().filter_map(|queue| queue.samples.front()).map(T::arrived).min()
    }

    /// Returns the turn of the next batch.
    fn turn(&self, now: Instant) -> Turn {
        let mut turn = Turn::Never;
        let mut first: Option<Instant> = None;
        for (bucket, queue) in self.queues.iter().enumerate() {
            let Some(oldest) = queue.samples.front().map(T::arrived) else { continue };
            let deadline = oldest + self.rules.timeout;
            let bucket_length = self.rules.buckets.get(bucket).copied();
            let (size, full) = self.rules.batch(&queue.samples, bucket_length.unwrap_or(0));
            if full || queue.flushed > 0 || now >= deadline {
                if first.is_none_or(|first| oldest < first) {
                    (turn, first) = (Turn::Ready { bucket, size }, Some(oldest));
                }
                continue;
            }
            turn = match turn {
                Turn::Ready { .. } => turn,
                Turn::At(earlier) => Turn::At(earlier.min(deadline)),
                Turn::Never => Turn::At(deadline),
            };
        }
        turn
    }
}

impl BatchLimits {
    /// Limits batches to `samples` samples, which never wait for other samples.
    #[cfg(test)]
    pub(crate) fn without_waiting(samples: usize) -> Self {
        let (timeout, buckets) = (Duration::ZERO, Vec::new());
        let (max_batch, max_tokens, max_bytes) = (samples, None, None);
        Self { max_batch, timeout, max_tokens, max_bytes, buckets, is_padded: false }
    }

    /// Returns the number of samples from the front that form a batch, and true if the batch is
    /// full. A sample that exceeds a limit alone forms its own batch. `bucket` is the length to
    /// which samples are padded at least.
    fn batch<T: Batchable>(&self, samples: &VecDeque<T>, bucket: usize) -> (usize, bool) {
        let most = samples.len().min(self.max_batch.max(1));
        if self.max_tokens.is_none() && self.max_bytes.is_none() {
            return (most, most == self.max_batch.max(1));
        }
        let (tokens_most, bytes_most) =
            (self.max_tokens.unwrap_or(usize::MAX), self.max_bytes.unwrap_or(usize::MAX));
        let (mut longest, mut sum, mut bytes) = (bucket, 0_usize, 0_usize);
        for (place, sample) in samples.iter().take(most).enumerate() {
            longest = longest.max(sample.length());
            sum = sum.saturating_add(sample.length());
            bytes = bytes.saturating_add(sample.bytes());
            let tokens = if self.is_padded { longest.saturating_mul(place + 1) } else { sum };
            if place > 0 && (tokens > tokens_most || bytes > bytes_most) {
                return (place, true);
            }
            if tokens >= tokens_most || bytes >= bytes_most {
                return (place + 1, true);
            }
        }
        (most, most == self.max_batch.max(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct TestSample(usize, Instant);

    impl Batchable for TestSample {
        fn arrived(&self) -> Instant {
            self.1
        }

        fn length(&self) -> usize {
            self.0 % 10
        }

        fn bytes(&self) -> usize {
            self.0
        }
    }

    const AGE: Duration = Duration::from_millis(5);

    /// Returns the samples of the next batch, or the time until which its engine waits, if any.
    fn next(
        batcher: &mut Batcher<TestSample>,
        now: Instant,
    ) -> Result<Vec<usize>, Option<Instant>> {
        match batcher.next(now, usize::MAX) {
            Next::Batch(batch) => Ok(batch.into_iter().map(|sample| sample.0).collect()),
            Next::WaitUntil(time) => Err(Some(time)),
            Next::Wait => Err(None),
        }
    }

    fn rules(samples: usize) -> BatchLimits {
        BatchLimits { is_padded: true, timeout: AGE, ..BatchLimits::without_waiting(samples) }
    }

    #[test]
    fn a_batch_closes_by_size_by_age_or_by_flush() {
        let start = Instant::now();
        let mut batcher = Batcher::new(rules(3));
        assert_eq!(next(&mut batcher, start), Err(None));

        batcher.push([TestSample(0, start), TestSample(1, start)]);
        assert_eq!(next(&mut batcher, start), Err(Some(start + AGE)));
        batcher.push([TestSample(2, start), TestSample(3, start)]);
        assert_eq!(next(&mut batcher, start), Ok(vec![0, 1, 2]));

        assert_eq!(next(&mut batcher, start), Err(Some(start + AGE)));
        assert_eq!(next(&mut batcher, start + AGE), Ok(vec![3]));

        batcher.push([TestSample(4, start)]);
        batcher.flush();
        batcher.push([TestSample(5, start)]);
        assert_eq!(next(&mut batcher, start), Ok(vec![4, 5]), "queued samples may join the batch");
        batcher.push([TestSample(6, start)]);
        assert_eq!(next(&mut batcher, start), Err(Some(start + AGE)), "a flush is used up");
    }

    #[test]
    fn samples_run_with_those_of_their_length_and_the_oldest_first() {
        let start = Instant::now();
        let mut batcher = Batcher::new(BatchLimits { buckets: vec![2, 5], ..rules(2) });
        let later = start + Duration::from_millis(1);
        batcher.push([
            TestSample(9, start),
            TestSample(1, later),
            TestSample(4, later),
            TestSample(12, later),
        ]);
        // Sample 12 has length 2 and fits the bucket of length 2 exactly.
        assert_eq!(next(&mut batcher, later), Ok(vec![1, 12]));
        assert_eq!(next(&mut batcher, later), Err(Some(start + AGE)));
        batcher.flush();
        assert_eq!(next(&mut batcher, later), Ok(vec![9]));
        assert_eq!(next(&mut batcher, later), Ok(vec![4]));
        assert_eq!(batcher.len(), 0);
    }

    #[test]
    fn tokens_and_bytes_are_limited_too() {
        let start = Instant::now();
        let sizes = |rules: BatchLimits, samples: &[usize]| {
            let mut batcher = Batcher::new(rules);
            batcher.push(samples.iter().map(|n| TestSample(*n, start)));
            let mut sizes = Vec::new();
            while let Ok(batch) = next(&mut batcher, start + AGE) {
                sizes.push(batch.len());
            }
            sizes
        };
        let max_tokens = Some(12);
        assert_eq!(
            sizes(BatchLimits { max_tokens, ..rules(9) }, &[4, 4, 4, 1, 9, 3, 3]),
            [3, 1, 1, 2]
        );
        let sum = BatchLimits { max_tokens, is_padded: false, ..rules(9) };
        assert_eq!(sizes(sum, &[4, 4, 3, 1, 9, 3, 3]), [4, 2, 1]);
        let padded = BatchLimits { max_tokens, buckets: vec![6], ..rules(9) };
        assert_eq!(sizes(padded, &[1, 1, 1]), [2, 1], "each as long as its bucket");
        assert_eq!(
            sizes(BatchLimits { max_bytes: Some(10), ..rules(9) }, &[40, 4, 6, 7]),
            [1, 2, 1]
        );
        assert_eq!(sizes(BatchLimits { max_bytes: Some(100), ..rules(2) }, &[1, 1, 1]), [2, 1]);
    }

    proptest! {
        #[test]
        fn every_sample_leaves_once_in_order_and_in_time(
            steps in proptest::collection::vec((0_usize..5, 0_u64..4, any::<bool>()), 1..100),
            buckets in prop_oneof![Just(vec![]), Just(vec![3, 6])],
            max_tokens in prop_oneof![Just(None), Just(Some(20))],
        ) {
            let mut now = Instant::now();
            let in_order = buckets.is_empty();
            let mut batcher = Batcher::new(BatchLimits { buckets, max_tokens, ..rules(4) });
            let (mut pushed, mut left) = (0, Vec::new());
            for (count, pause_ms, flush) in steps {
                batcher.push((pushed..pushed + count).map(|n| TestSample(n, now)));
                pushed += count;
                if flush {
                    batcher.flush();
                }
                now += Duration::from_millis(pause_ms);
                while batcher.is_ready(now) {
                    let batch = next(&mut batcher, now).unwrap();
                    prop_assert!(!batch.is_empty() && batch.len() <= 4 && batch.is_sorted());
                    left.extend(batch);
                }
                if flush {
                    prop_assert_eq!(batcher.len(), 0);
                }
                let wait = batcher.oldest().map(|oldest| oldest + AGE);
                prop_assert!(wait.is_none_or(|deadline| deadline > now && deadline <= now + AGE));
                prop_assert_eq!(next(&mut batcher, now), Err(wait));
            }
            batcher.flush();
            while let Ok(batch) = next(&mut batcher, now) {
                left.extend(batch);
            }
            prop_assert!(!in_order || left.is_sorted());
            left.sort_unstable();
            prop_assert_eq!(left, (0..pushed).collect::<Vec<_>>());
        }
    }
}
