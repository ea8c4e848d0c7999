//! Engine without a model: sends tokens on schedule, like a language model. It measures how much
//! the network and the node add to the times of tokens. The output is a function of the prompt.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    io,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use netdiv_contract::{checksum, v1};

use crate::{
    engine::{
        interface::{EngineKind, StreamingEngine, WaitingEngine},
        settings::{EngineSettings, NodeSettings},
        sink::Sink,
        timer::Timer,
        tokens::settings::{OutputKind, TokensConfig},
    },
    ground::error::EngineError,
    model::{identity::Model, payload::Payload, token_limits::TokenLimits},
};

/// Number of lowest ids that outputs never contain. Most models reserve them for padding, unknown
/// words, and the beginning and end of a text.
const RESERVED: u32 = 8;

/// Maximum time of one step. The threads that run steps also read from the network, but only after
/// up to 61 tasks (tokio's `event_interval`).
const LONGEST_STEP: Duration = Duration::from_micros(100);

/// Maximum interval at which an output checks that its client has not gone.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl EngineSettings for TokensConfig {
    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        let (settings, slots) = (Arc::new(self.clone()), node.batching.max_batch);
        let engine = |_| EngineKind::waiting(TokensEngine::new(settings.clone(), slots));
        let engines = (0..node.instances).map(engine).collect::<Result<_, _>>()?;
        let limits = TokenLimits { vocabulary: self.vocabulary, ..TokenLimits::default() };
        Ok((Model::of_tokens("tokens", limits), engines))
    }
}

pub(in crate::engine) struct TokensEngine {
    settings: Arc<TokensConfig>,
    slots: usize,
    /// Outputs in flight, by slot.
    speeches: Vec<Option<TokenStream>>,
    free: Vec<usize>,
    /// Slots, by the time at which their next token is due, earliest first.
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    timer: Timer,
}

/// An output in flight.
struct TokenStream {
    sink: Sink,
    seed: u64,
    kind: OutputKind,
    tokens: u32,
}

impl TokensEngine {
    pub(in crate::engine) fn new(settings: Arc<TokensConfig>, slots: usize) -> io::Result<Self> {
        let (speeches, free, timer) = (Vec::new(), Vec::new(), Timer::new()?);
        Ok(Self { settings, slots, speeches, free, due: BinaryHeap::new(), timer })
    }

    /// Sends the tokens of a slot that are due at `now`. Frees the slot if the output has ended or
    /// its client has gone.
    fn send_due(&mut self, slot: usize, now: Instant) {
        let Some(mut speech) = self.speeches[slot].take() else { return };
        if !speech.sink.is_closed() {
            speech.send_until(now, self.settings.vocabulary);
            match speech.next_due() {
                Some(due) => {
                    self.speeches[slot] = Some(speech);
                    self.due.push(Reverse((due.min(now + LOOK_AGAIN), slot)));
                    return;
                }
                None => speech.sink.end(),
            }
        }
        self.free.push(slot);
    }
}

impl TokenStream {
    fn new(prompt: &Payload, sink: Sink, settings: &TokensConfig) -> Self {
        let seed = mix(checksum::payload_checksum(prompt.bytes()).into());
        let kind = settings.outputs[(seed % settings.outputs.len() as u64) as usize];
        let span = u64::from(kind.tokens.max - kind.tokens.min) + 1;
        let tokens = kind.tokens.min + (mix(seed) % span) as u32;
        let tokens = u32::try_from(sink.max_tokens()).unwrap_or(u32::MAX).min(tokens);
        Self { sink, seed, kind, tokens }
    }

    /// Returns the time at which token number `place` is due.
    fn due(&self, place: u32) -> Instant {
        self.sink.accepted_at() + self.kind.ttft + self.kind.tpot * place
    }

    /// Returns the time of the next token that the client waits for, or `None` after the last one.
    fn next_due(&self) -> Option<Instant> {
        let said = self.sink.token_count() as u32;
        let next = match self.sink.wanted_tokens() {
            _ if said == self.tokens => return None,
            v1::Tokens::First if said == 0 => 0,
            v1::Tokens::First | v1::Tokens::Whole => self.tokens - 1,
            v1::Tokens::Every => said,
        };
        Some(self.due(next))
    }

    /// Sends the tokens that are due at `now`, with ids below `vocabulary`.
    fn send_until(&mut self, now: Instant, vocabulary: u32) {
        let said = self.sink.token_count() as u32;
        let late = now.saturating_duration_since(self.due(said));
        let many = match self.kind.tpot {
            _ if now < self.due(said) => 0,
            Duration::ZERO => u128::from(self.tokens),
            tpot => late.as_nanos() / tpot.as_nanos() + 1,
        };
        let until = self.tokens.min(said.saturating_add(u32::try_from(many).unwrap_or(u32::MAX)));
        // Scales the share to the range of ids. A division would take longer than all the rest.
        let id = |place: u32| {
            let share = mix(self.seed.wrapping_add(u64::from(place) + 1)) >> u32::BITS;
            let number = (share * u64::from(vocabulary - RESERVED)) >> u32::BITS;
            (RESERVED + number as u32) as i32
        };
        let ids: Vec<_> = (said..until).map(id).collect();
        self.sink.push_tokens(&ids);
    }
}

/// Mixes the bits of a number (SplitMix64).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl StreamingEngine for TokensEngine {
    fn in_flight(&self) -> usize {
        self.speeches.len() - self.free.len()
    }

    fn room(&self) -> usize {
        self.slots.saturating_sub(self.in_flight())
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        for (prompt, sink) in samples {
            let speech = TokenStream::new(&prompt, sink, &self.settings);
            let slot = self.free.pop().unwrap_or_else(|| {
                self.speeches.push(None);
                self.speeches.len() - 1
            });
            let now = Instant::now();
            let due = speech.next_due().unwrap_or(now).min(now + LOOK_AGAIN);
            self.due.push(Reverse((due, slot)));
            self.speeches[slot] = Some(speech);
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), EngineError> {
        let now = Instant::now();
        while let Some(Reverse((due, slot))) = self.due.peek().copied()
            && due <= now
            && now.elapsed() < LONGEST_STEP
        {
            self.due.pop();
            self.send_due(slot, now);
        }
        Ok(())
    }

    fn drop_all(&mut self) {
        self.speeches.clear();
        self.free.clear();
        self.due.clear();
    }
}

impl WaitingEngine for TokensEngine {
    fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.due.peek() {
            Some(Reverse((due, _))) => self.timer.poll_until(context, *due),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use netdiv_contract::{encoding::Encoding, v1::Tokens as Wanted};

    use super::*;
    use crate::{
        engine::{remote::testing::client, tokens::settings::OutputLength},
        ground::clock::Clock,
        sample::{queued_sample::QueuedSample, replies::ReplyTarget},
    };

    #[tokio::test]
    async fn a_slot_is_free_again_when_its_client_has_left() {
        let tokens = OutputLength { min: 5, max: 5 };
        // One token per hour.
        let hour = Duration::from_secs(3600);
        let hour = OutputKind { ttft: hour, tpot: hour, tokens };
        let settings = TokensConfig { outputs: vec![hour], vocabulary: 100 };
        let mut engine = TokensEngine::new(Arc::new(settings), 4).unwrap();
        let (leaving, gone) = client(Wanted::First);
        let (staying, _here) = client(Wanted::First);
        let begin = |engine: &mut TokensEngine, client: &ReplyTarget| {
            let sample = QueuedSample::empty(0, client.clone());
            let sink = Sink::new(sample, Clock::default(), Encoding::None);
            engine.begin(vec![(Payload::default(), sink)]).unwrap();
        };
        for client in [&leaving, &staying, &leaving, &leaving] {
            begin(&mut engine, client);
        }
        assert_eq!((engine.in_flight(), engine.room()), (4, 0));
        drop(gone);
        // The engine checks once a second.
        while engine.in_flight() > 1 {
            poll_fn(|context| engine.poll_due(context)).await;
            engine.step().unwrap();
        }
        assert_eq!(engine.room(), 3);
        (0..3).for_each(|_| begin(&mut engine, &staying));
        assert_eq!((engine.speeches.len(), engine.room()), (4, 0), "the same slots");
        engine.drop_all();
        assert_eq!((engine.in_flight(), engine.room()), (0, 4));
    }
}
