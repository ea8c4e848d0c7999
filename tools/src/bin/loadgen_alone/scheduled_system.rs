//! A system that sends tokens on schedule, from one thread that does nothing else.

use std::{
    collections::VecDeque,
    error::Error,
    io,
    num::NonZeroU64,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

use loadgen_sys::{Abort, ResponseId, Samples, SystemUnderTest, complete, first_token};

/// Maximum number of samples that wait for the thread; then the sender blocks.
const INBOX: usize = 1 << 16;

/// Length of a token id, in bytes.
const ID_BYTES: usize = 4;

/// Times from a sample's arrival to its first token and to its whole output, and the output's
/// bytes.
#[derive(Clone)]
pub(crate) struct Schedule {
    first: Duration,
    whole: Duration,
    output: Vec<u8>,
}

impl Schedule {
    pub(crate) fn parse(
        ttft_us: &str,
        tpot_us: &str,
        tokens: &str,
    ) -> Result<Self, Box<dyn Error>> {
        let tokens = tokens.parse::<u32>()?.max(1);
        let first = Duration::from_micros(ttft_us.parse()?);
        let whole = first + Duration::from_micros(tpot_us.parse()?) * (tokens - 1);
        Ok(Self { first, whole, output: vec![0; tokens as usize * ID_BYTES] })
    }
}

/// Receiver of tokens.
pub(crate) trait TokenSink<Id>: Send + 'static {
    /// Reports the first token of a sample.
    fn first(&mut self, id: &mut Id, token: &[u8]);

    /// Reports samples whose output is whole.
    fn whole(&mut self, ids: impl Iterator<Item = Id>, output: &[u8]);

    /// Sends everything reported so far. Returns false if the receiver is gone.
    fn flush(&mut self) -> bool {
        true
    }
}

/// Sink that reports tokens to LoadGen, in this process.
pub(crate) struct LoadGen;

impl TokenSink<ResponseId> for LoadGen {
    fn first(&mut self, id: &mut ResponseId, token: &[u8]) {
        first_token(id, token);
    }

    fn whole(&mut self, ids: impl Iterator<Item = ResponseId>, output: &[u8]) {
        complete(ids.map(|id| (id, output)));
    }
}

/// System under test that sends tokens on schedule. Its thread lives as long as the value, because
/// LoadGen loses log entries of a thread that ends during a test.
pub(crate) struct ScheduledSystem<Id>(SyncSender<(Instant, Id)>);

impl<Id: Send + 'static> ScheduledSystem<Id> {
    pub(crate) fn start(schedule: Schedule, told: impl TokenSink<Id>) -> io::Result<Self> {
        let (issued, inbox) = sync_channel(INBOX);
        thread::Builder::new()
            .name("on-schedule".into())
            .spawn(move || answer(&schedule, &inbox, told))?;
        Ok(Self(issued))
    }

    /// Begins a sample that arrived at `came`. Returns false if the thread has ended.
    pub(crate) fn begin(&self, came: Instant, id: Id) -> bool {
        self.0.send((came, id)).is_ok()
    }
}

/// Sends tokens until the sender is dropped. All outputs take equally long, so the first to begin
/// is the first due.
fn answer<Id>(schedule: &Schedule, inbox: &Receiver<(Instant, Id)>, mut told: impl TokenSink<Id>) {
    // As precise as the engine `tokens`.
    let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
    let (mut begun, mut first_told) = (VecDeque::new(), VecDeque::new());
    loop {
        let due = |queue: &VecDeque<(Instant, _)>, after| queue.front().map(|(at, _)| *at + after);
        let next = due(&begun, schedule.first).into_iter().chain(due(&first_told, schedule.whole));
        let sample = match next.min() {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(next) => inbox.recv_timeout(next.saturating_duration_since(Instant::now())),
        };
        match sample {
            Ok(sample) => begun.push_back(sample),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        begun.extend(inbox.try_iter());
        let now = Instant::now();
        while due(&begun, schedule.first).is_some_and(|due| due <= now) {
            let Some((came, mut id)) = begun.pop_front() else { break };
            told.first(&mut id, &schedule.output[..ID_BYTES]);
            first_told.push_back((came, id));
        }
        let is_whole = |(came, _): &(Instant, Id)| *came + schedule.whole <= now;
        let whole = first_told.iter().take_while(|sample| is_whole(sample)).count();
        told.whole(first_told.drain(..whole).map(|(_, id)| id), &schedule.output);
        if !told.flush() {
            return;
        }
    }
}

impl SystemUnderTest for ScheduledSystem<ResponseId> {
    fn name(&self) -> Result<String, Abort> {
        Ok("on schedule".into())
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        let issued = Instant::now();
        for sample in samples {
            if !self.begin(issued, sample.response_id) {
                return Err(Abort("the thread that answers has ended".into()));
            }
        }
        Ok(())
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        Ok(())
    }

    fn abandoned(&self, reason: Abort) {
        panic!("{reason}");
    }
}
