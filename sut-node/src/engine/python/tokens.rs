//! An instance that streams the outputs of a language model from a worker.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use netdiv_contract::tokens::{self, ID_BYTES};
use netdiv_node_common::words::count;
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::{Interest, unix::AsyncFd};

use crate::{
    engine::{
        interface::{StreamingEngine, WaitingEngine},
        settings::NodeSettings,
        sink::Sink,
        timer::Timer,
    },
    ground::{engine_activity::Loss, error::EngineError},
    model::{payload::Payload, sampling_seed::SamplingSeed, served_model::ServedModel},
    worker::{
        memory::SharedMemory,
        message::{FromWorker, Message, NO_SEED, ToWorker, encode, token_parts},
        process::{Worker, message_buffer, receive},
    },
};

/// Maximum time of one step, so that other tasks of the thread get their turn.
const LONGEST_STEP: Duration = Duration::from_micros(100);

/// Interval at which the node looks whether clients have gone.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct PythonTokens {
    worker: Worker,
    /// The worker's socket, registered with the runtime.
    socket: AsyncFd<Arc<OwnedFd>>,
    memory: SharedMemory,
    model: ServedModel,
    seed: Option<SamplingSeed>,
    slots: Vec<Option<OpenOutput>>,
    free: Vec<usize>,
    /// Messages that did not fit into the socket.
    outgoing: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
    timer: Timer,
    look_at: Instant,
    /// Maximum time without a token of an output, or without any message if outputs run one after the
    /// other.
    patience: Duration,
    /// Time of the last message.
    heard_at: Instant,
    /// Reason why the worker is lost; `None` if it is not.
    lost: Option<String>,
}

struct OpenOutput {
    /// Receiver of the output; `None` once its client has gone, or the output has failed.
    sink: Option<Sink>,
    /// Time at which the output began, or of its last tokens.
    progress_at: Instant,
}

impl PythonTokens {
    /// Creates the instance, within the runtime that serves it.
    pub(super) fn new(
        worker: Worker,
        memory: SharedMemory,
        model: ServedModel,
        seed: Option<SamplingSeed>,
        node: &NodeSettings,
    ) -> io::Result<Self> {
        let slots = node.batching.max_batch;
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe; an `OwnedFd` is always the same"
        )]
        let socket = AsyncFd::new(worker.socket.clone())?;
        Ok(Self {
            socket,
            memory,
            model,
            seed,
            slots: (0..slots).map(|_| None).collect(),
            free: (0..slots).rev().collect(),
            outgoing: VecDeque::new(),
            buffer: message_buffer(),
            timer: Timer::new()?,
            look_at: Instant::now(),
            patience: node.engine_timeout,
            heard_at: Instant::now(),
            lost: None,
            worker,
        })
    }

    /// Records the loss of the worker.
    fn lose(&mut self, why: String) -> EngineError {
        EngineError::Lost(self.lost.get_or_insert(why).clone())
    }

    /// Records that the worker has closed its socket.
    fn lose_socket(&mut self) -> EngineError {
        let why = self.worker.state.end_reason();
        self.lose(why)
    }

    /// Sends a message, or keeps it until the socket has room.
    fn send(&mut self, message: Vec<u8>) -> Result<(), EngineError> {
        self.outgoing.push_back(message);
        self.flush()
    }

    fn cancel(&mut self, slot: usize) -> Result<(), EngineError> {
        self.send(encode(ToWorker::Cancel, slot, 0, &[]))
    }

    /// Sends the kept messages, as far as the socket has room.
    fn flush(&mut self) -> Result<(), EngineError> {
        while let Some(message) = self.outgoing.front() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            let sent = self.socket.try_io(Interest::WRITABLE, |socket| {
                Ok(rustix::net::send(&**socket, message, flags)?)
            });
            match sent {
                Ok(_) => drop(self.outgoing.pop_front()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.lose_socket()),
            }
        }
        Ok(())
    }

    fn start(&mut self, prompt: &Payload, sink: Sink) -> Result<(), EngineError> {
        // The caller begins at most as many samples as there is room for.
        let Some(slot) = self.free.pop() else {
            sink.finish_with(Err(EngineError::Failed("no slot is free".into())));
            return Ok(());
        };
        // The layout of language models has int32 alone.
        let ids = &prompt.tensors()[0].data[..];
        let at = slot as u64 * slot_bytes(&self.model);
        if let Err(error) = self.memory.write([ids].into_iter(), at) {
            self.free.push(slot);
            sink.finish_with(Err(error));
            return Ok(());
        }
        let most = self.model.limited(sink.max_tokens()).max_tokens;
        let seed = self.seed.map(|seed| seed.of_prompt(tokens::ids(ids).map(i64::from)));
        let limits = [most, seed.unwrap_or(NO_SEED)].map(u32::to_ne_bytes);
        let count = (ids.len() / ID_BYTES) as u64;
        self.slots[slot] = Some(OpenOutput { sink: Some(sink), progress_at: Instant::now() });
        self.send(encode(ToWorker::Generate, slot, count, limits.as_flattened()))
    }

    /// Takes the messages that the worker has sent, for a limited time.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), EngineError> {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST_STEP {
            let received = self
                .socket
                .try_io(Interest::READABLE, |socket| receive(socket, buffer, RecvFlags::DONTWAIT));
            match received {
                Ok(0) => return Err(self.lose_socket()),
                Ok(length) => self
                    .take(&buffer[..length])
                    .ok_or_else(|| self.lose("its worker sent an unexpected message".into()))?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(self.lose(error.to_string())),
            }
        }
        Ok(())
    }

    /// Returns `None` if the message is not one of an output in flight.
    fn take(&mut self, message: &[u8]) -> Option<()> {
        let message = Message::decode(message)?;
        self.heard_at = Instant::now();
        match message.kind {
            FromWorker::Tokens => {
                for part in token_parts(message.body) {
                    let (slot, ids) = part?;
                    let output = self.slots.get_mut(slot)?.as_mut()?;
                    output.progress_at = self.heard_at;
                    if let Some(sink) = &mut output.sink {
                        // The worker checks the ids, and ends before there are more than that.
                        if sink.token_count() + ids.len() > self.model.max_tokens as usize {
                            return None;
                        }
                        sink.push_tokens(&ids);
                    }
                }
            }
            FromWorker::Ended | FromWorker::Failed => {
                let OpenOutput { sink, .. } = self.slots.get_mut(message.slot)?.take()?;
                self.free.push(message.slot);
                let Some(sink) = sink else { return Some(()) };
                let failure = match message.kind {
                    FromWorker::Failed => Some(message.text()),
                    _ => self.fault(&sink),
                };
                match failure {
                    None => sink.end(),
                    Some(why) => sink.finish_with(Err(EngineError::Failed(why))),
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the reason why an output is too short or too long. The worker has checked its ids.
    fn fault(&self, sink: &Sink) -> Option<String> {
        let (got, model) = (sink.token_count(), self.model.limited(sink.max_tokens()));
        let ServedModel { min_tokens, max_tokens, .. } = *model;
        (!(min_tokens as usize..=max_tokens as usize).contains(&got)).then(|| {
            format!("an output of {}; expected {min_tokens} to {max_tokens}", count(got, "token"))
        })
    }

    /// Fails outputs that have made no progress for too long, unless others that run before them do.
    /// Their slots are free once the worker ends them; a worker that does not is lost.
    fn check_progress(&mut self) -> Result<(), EngineError> {
        let (now, patience) = (Instant::now(), self.patience);
        let is_silent = now.saturating_duration_since(self.heard_at) > patience;
        let is_late =
            |output: &OpenOutput| now.saturating_duration_since(output.progress_at) > patience;
        let mut open = self.slots.iter().flatten();
        if is_silent && open.any(|output| output.sink.is_none() && is_late(output)) {
            let seconds = patience.as_secs_f64();
            let why = format!(
                "its worker ends no output, and says nothing for --engine-timeout, {seconds} s"
            );
            return Err(self.lose(why));
        }
        for slot in 0..self.slots.len() {
            let Some(output) = &mut self.slots[slot] else { continue };
            let has_begun = output.sink.as_ref().is_some_and(|sink| sink.token_count() > 0);
            if !is_late(output) || !(has_begun || is_silent) {
                continue;
            }
            let Some(sink) = output.sink.take() else { continue };
            output.progress_at = now;
            let (tokens, seconds) = (count(sink.token_count(), "token"), patience.as_secs_f64());
            let why = format!("after {tokens}: none within --engine-timeout, {seconds} s");
            sink.finish_with(Err(EngineError::Failed(why)));
            self.cancel(slot)?;
        }
        Ok(())
    }

    /// Cancels the outputs whose clients have gone.
    fn cancel_abandoned(&mut self) -> Result<(), EngineError> {
        for slot in 0..self.slots.len() {
            let output = self.slots[slot].as_mut();
            let is_abandoned =
                |output: &&mut OpenOutput| output.sink.as_ref().is_some_and(Sink::is_closed);
            if let Some(output) = output.filter(is_abandoned) {
                output.sink = None;
                self.cancel(slot)?;
            }
        }
        Ok(())
    }
}

/// Returns the room for a prompt in the memory, in bytes.
pub(super) fn slot_bytes(model: &ServedModel) -> u64 {
    u64::from(model.max_input_tokens) * ID_BYTES as u64
}

impl StreamingEngine for PythonTokens {
    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn room(&self) -> usize {
        self.free.len()
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        if let Some(why) = &self.lost {
            let lost = || EngineError::Lost(why.clone());
            samples.into_iter().for_each(|(_, sink)| sink.finish_with(Err(lost())));
            return Err(lost());
        }
        samples.into_iter().try_for_each(|(prompt, sink)| self.start(&prompt, sink))
    }

    fn step(&mut self) -> Result<(), EngineError> {
        if let Some(why) = self.lost.clone() {
            return Err(self.lose(why));
        }
        self.flush()?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let received = self.receive(&mut buffer);
        self.buffer = buffer;
        received?;
        if Instant::now() >= self.look_at {
            self.look_at = Instant::now() + LOOK_INTERVAL.min(self.patience / 4);
            self.check_progress()?;
            self.cancel_abandoned()?;
        }
        Ok(())
    }

    fn drop_all(&mut self) {
        let why = self.lost.clone().unwrap_or_else(|| "it has failed".into());
        for slot in 0..self.slots.len() {
            let Some(OpenOutput { sink, .. }) = self.slots[slot].take() else { continue };
            if let Some(sink) = sink {
                sink.finish_with(Err(EngineError::Lost(why.clone())));
            }
            self.free.push(slot);
        }
    }

    fn loss(&self) -> Option<Loss> {
        Some(self.worker.loss())
    }
}

impl WaitingEngine for PythonTokens {
    fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // The end of a lost worker's socket would be ready for ever.
        if self.lost.is_some() {
            return Poll::Pending;
        }
        if self.socket.poll_read_ready(context).is_ready() {
            return Poll::Ready(());
        }
        if !self.outgoing.is_empty() && self.socket.poll_write_ready(context).is_ready() {
            return Poll::Ready(());
        }
        self.timer.poll_until(context, self.look_at)
    }
}
