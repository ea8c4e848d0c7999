//! Tests of batches that are begun while others compute: the queue, engine threads, and an engine
//! that reports when it is done.

#![allow(clippy::unwrap_used)]

use std::{
    cell::Cell,
    collections::VecDeque,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_contract::{
    encoding::Encoding,
    layout::InputLayout,
    v1::{InferResponse, Tokens},
};
use parking_lot::{Condvar, Mutex};

use crate::{
    batching::{batcher::BatchLimits, queue::BatchQueue},
    engine::{
        batched::BatchedWork,
        interface::{BatchAnswers, DoneCallback, Engine},
        thread::EngineThread,
    },
    ground::{clock::Clock, error::EngineError},
    model::payload::Payload,
    sample::{queued_sample::QueuedSample, replies::ReplyTarget},
};

/// Maximum time that a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(20);

/// Permits to finish batches. A test adds them, and a device needs one for each batch.
#[derive(Default)]
struct Permits(Mutex<usize>, Condvar);

impl Permits {
    fn give(&self, count: usize) {
        *self.0.lock() += count;
        self.1.notify_all();
    }

    /// Waits until there is a permit, and then takes `take` permits.
    fn wait(&self, take: usize) {
        let mut permits = self.0.lock();
        self.1.wait_while(&mut permits, |permits| *permits == 0);
        *permits -= take;
    }
}

/// An engine with two slots, which reports each batch that it begins.
struct Device {
    name: &'static str,
    begun: Sender<&'static str>,
    batches: VecDeque<Vec<Payload>>,
    permits: Arc<Permits>,
}

impl Engine for Device {
    fn max_in_flight(&self) -> usize {
        2
    }

    fn begin(&mut self, batch: Vec<Payload>) {
        self.begun.send(self.name).unwrap();
        self.batches.push_back(batch);
    }

    fn when_done(&mut self, done: DoneCallback) -> bool {
        let permits = self.permits.clone();
        thread::spawn(move || {
            permits.wait(0);
            done();
        });
        true
    }

    fn finish(&mut self) -> Result<BatchAnswers, EngineError> {
        self.permits.wait(1);
        let batch = self.batches.pop_front().unwrap_or_default();
        let answers = batch.iter().map(|sample| Ok(sample.bytes().clone())).collect();
        Ok(BatchAnswers { answers, token_counts: Vec::new(), prepare: Duration::ZERO })
    }
}

/// Devices on separate threads behind a queue of single samples.
struct DevicesSetup {
    queue: Arc<BatchQueue<QueuedSample>>,
    threads: Vec<JoinHandle<()>>,
    begun: Receiver<&'static str>,
    replies: Receiver<InferResponse>,
    reply_to: ReplyTarget,
}

fn on_thread(device: Device, queue: &Arc<BatchQueue<QueuedSample>>) -> EngineThread {
    let work = BatchedWork::new(Box::new(device), Encoding::None, Arc::default(), queue.clock());
    EngineThread::new(Box::new(work), queue.clone())
}

fn queue(clock: Clock) -> Arc<BatchQueue<QueuedSample>> {
    Arc::new(BatchQueue::new(BatchLimits::without_waiting(1), clock))
}

/// Returns a destination of replies, and the channel that receives them.
fn replies() -> (ReplyTarget, Receiver<InferResponse>) {
    let (sender, replies) = channel();
    let send = move |all: Vec<InferResponse>| all.into_iter().for_each(|r| sender.send(r).unwrap());
    (ReplyTarget::here(send, Tokens::Whole), replies)
}

fn sample(id: u64, arrived: Instant, replies: &ReplyTarget) -> QueuedSample {
    let payload = Payload::read(&InputLayout::default(), Bytes::from_static(b"payload")).unwrap();
    QueuedSample { payload, arrived, ..QueuedSample::empty(id, replies.clone()) }
}

impl DevicesSetup {
    fn new(devices: &[(&'static str, &Arc<Permits>)]) -> Self {
        let queue = queue(Clock::default());
        let (sender, begun) = channel();
        let start = |(name, permits): &(&'static str, &Arc<Permits>)| {
            let (begun, permits) = (sender.clone(), (*permits).clone());
            let engine = Device { name, begun, batches: VecDeque::new(), permits };
            let thread = on_thread(engine, &queue);
            thread::spawn(|| thread.run())
        };
        let threads: Vec<_> = devices.iter().map(start).collect();
        while queue.idle() < devices.len() {
            thread::yield_now();
        }
        let (reply_to, replies) = replies();
        Self { queue, threads, begun, replies, reply_to }
    }

    /// Queues a sample. Returns the device that begins it.
    fn begin(&self, id: u64) -> &'static str {
        self.queue.push(&mut vec![sample(id, Instant::now(), &self.reply_to)]);
        self.begun.recv_timeout(PATIENCE).unwrap()
    }

    fn reply(&self) -> u64 {
        self.replies.recv_timeout(PATIENCE).unwrap().id
    }

    fn end(self) {
        self.queue.close();
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn a_batch_that_comes_while_another_computes_is_begun_at_once() {
    let permits = Arc::default();
    let stage = DevicesSetup::new(&[("a", &permits)]);
    for round in 0..50 {
        // The first batch ends only after the second has begun.
        stage.begin(2 * round);
        stage.begin(2 * round + 1);
        permits.give(2);
        assert_eq!((stage.reply(), stage.reply()), (2 * round, 2 * round + 1));
    }
    stage.end();
}

#[test]
fn a_batch_that_stays_alone_is_answered_when_it_is_done() {
    let permits = Arc::default();
    let stage = DevicesSetup::new(&[("a", &permits)]);
    for id in 0..50 {
        stage.begin(id);
        permits.give(1);
        assert_eq!(stage.reply(), id);
    }
    // After a series of lone batches, a batch that arrives during another one is not begun at once.
    // Later batches are.
    stage.begin(50);
    stage.queue.push(&mut vec![sample(51, Instant::now(), &stage.reply_to)]);
    permits.give(1);
    assert_eq!(stage.reply(), 50);
    stage.begun.recv_timeout(PATIENCE).unwrap();
    stage.begin(52);
    permits.give(2);
    assert_eq!((stage.reply(), stage.reply()), (51, 52));
    // The end of the last batch and the closing of the queue, in either order.
    stage.begin(53);
    stage.queue.close();
    permits.give(1);
    assert_eq!(stage.reply(), 53);
    stage.end();
}

#[test]
fn a_device_that_has_nothing_to_do_comes_before_one_that_computes() {
    let [first, second] = [Arc::<Permits>::default(), Arc::default()];
    let stage = DevicesSetup::new(&[("a", &first), ("b", &second)]);
    let busy = stage.begin(0);
    assert_ne!(stage.begin(1), busy);
    // Both devices have a free slot.
    assert_ne!(stage.begin(2), stage.begin(3));
    [first, second].iter().for_each(|permits| permits.give(2));
    let mut replies: Vec<_> = (0..4).map(|_| stage.reply()).collect();
    replies.sort_unstable();
    assert_eq!(replies, [0, 1, 2, 3]);
    stage.end();
}

thread_local! {
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

#[test]
fn the_time_behind_another_batch_is_no_time_of_computing() {
    let start = Instant::now();
    let at = |ms| NOW.set(Some(start + Duration::from_millis(ms)));
    at(0);
    let queue = queue(Clock(|| NOW.get().unwrap_or_else(Instant::now)));
    let permits = Arc::<Permits>::default();
    permits.give(3);
    let (begun, _begun) = channel();
    let engine = Device { name: "a", begun, batches: VecDeque::new(), permits };
    let mut thread = on_thread(engine, &queue);
    let (reply_to, replies) = replies();
    queue.push(&mut (0..2).map(|id| sample(id, start, &reply_to)).collect());
    for end in [0, 0, 10, 25] {
        at(end);
        let next = thread.next_at_once();
        thread.step(next);
    }
    // The device had nothing to do in between.
    queue.push(&mut vec![sample(2, start + Duration::from_millis(40), &reply_to)]);
    for end in [40, 47] {
        at(end);
        let next = thread.next_at_once();
        thread.step(next);
    }
    let ms = |ns: u64| ns / 1_000_000;
    let times = |reply: InferResponse| (ms(reply.queue_ns), ms(reply.compute_ns));
    assert_eq!(replies.try_iter().map(times).collect::<Vec<_>>(), [(0, 10), (10, 15), (0, 7)]);
}
