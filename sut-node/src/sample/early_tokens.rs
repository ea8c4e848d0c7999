//! Early tokens: replies with tokens that an engine sends before their output is complete. On a
//! stream, they overtake whole outputs that wait.
//!
//! The first token of an output has its own message. Tokens after it are called further tokens.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use netdiv_contract::{
    burst,
    framing::Encoder,
    v1::{InferResponse, Part, Tokens},
};
use tokio::sync::mpsc;

/// Maximum size of whole outputs that are encoded in a row, in bytes. After them, early tokens have
/// their turn.
pub(crate) const BETWEEN_BYTES: usize = 64 << 10;

/// Maximum number of messages with further tokens that wait on a stream. Tokens beyond it are sent
/// with the engine's next tokens.
const MOST_WAITING: usize = 1024;

/// Maximum size of waiting messages with further tokens, in bytes. One more message may exceed it.
const MOST_WAITING_BYTES: usize = 1 << 20;

/// Sending end of a stream's early tokens, used by engines.
#[derive(Debug)]
pub(crate) struct EarlyTokenSender {
    pub(super) wanted: Tokens,
    /// First tokens, which always have room, and further tokens, which are counted.
    sender: mpsc::Sender<InferResponse>,
    more_waiting: Arc<WaitCounts>,
}

/// Number and bytes of waiting messages with further tokens.
#[derive(Debug, Default)]
struct WaitCounts {
    messages: AtomicUsize,
    bytes: AtomicUsize,
}

/// Receiving end of a stream's early tokens, used by the stream.
#[derive(Debug)]
pub(crate) struct EarlyTokenReceiver {
    receiver: mpsc::Receiver<InferResponse>,
    more_waiting: Arc<WaitCounts>,
}

/// Creates the two ends for a stream that owes at most `most_samples` samples, each with a single
/// first token; `None` if the client wants only whole outputs.
pub(crate) fn channel(
    wanted: Tokens,
    most_samples: usize,
) -> Option<(EarlyTokenSender, EarlyTokenReceiver)> {
    if wanted == Tokens::Whole {
        return None;
    }
    let (sender, receiver) = mpsc::channel(most_samples + MOST_WAITING);
    let more_waiting = Arc::<WaitCounts>::default();
    let ahead = EarlyTokenSender { wanted, sender, more_waiting: more_waiting.clone() };
    Some((ahead, EarlyTokenReceiver { receiver, more_waiting }))
}

impl EarlyTokenSender {
    /// Sends tokens. Returns false if they are further tokens and too many wait already.
    pub(crate) fn send(&self, tokens: InferResponse) -> bool {
        if tokens.part() == Part::More {
            let WaitCounts { messages, bytes } = &*self.more_waiting;
            if messages.load(Ordering::Relaxed) >= MOST_WAITING
                || bytes.load(Ordering::Relaxed) >= MOST_WAITING_BYTES
            {
                return false;
            }
            messages.fetch_add(1, Ordering::Relaxed);
            bytes.fetch_add(tokens.payload.len(), Ordering::Relaxed);
        }
        // A client that has disconnected receives nothing.
        let _ = self.sender.try_send(tokens);
        true
    }
}

impl EarlyTokenReceiver {
    /// Encodes the tokens that have arrived, and registers the task to be woken for more. Encodes
    /// at most [`burst::MAX_BURST_MESSAGES`] messages per call, even while engines produce tokens
    /// as fast as they are encoded: a task that has something to send is polled again. Returns
    /// false if there may be more. Until it returns true, no output may follow, because its first
    /// token could still be waiting.
    ///
    /// Polling alone may leave tokens behind. It returns `Pending` when the task has used up its
    /// budget, or while another thread is sending. `try_recv` receives everything that was sent
    /// before this call.
    pub(crate) fn encode(&mut self, context: &mut Context<'_>, encoder: &mut Encoder) -> bool {
        for _ in 0..burst::MAX_BURST_MESSAGES {
            let tokens = match self.receiver.try_recv() {
                Ok(tokens) => tokens,
                Err(_) => match self.receiver.poll_recv(context) {
                    Poll::Ready(Some(tokens)) => tokens,
                    Poll::Ready(None) | Poll::Pending => return true,
                },
            };
            if tokens.part() == Part::More {
                self.more_waiting.messages.fetch_sub(1, Ordering::Relaxed);
                self.more_waiting.bytes.fetch_sub(tokens.payload.len(), Ordering::Relaxed);
            }
            encoder.push(tokens);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;

    use super::*;

    async fn encode(of: &mut EarlyTokenReceiver, encoder: &mut Encoder) {
        poll_fn(|context| Poll::Ready(of.encode(context, encoder))).await;
    }

    #[tokio::test]
    async fn nothing_is_left_when_the_task_has_no_budget() {
        let (ahead, mut of) = channel(Tokens::First, 1).unwrap();
        let (sender, mut receiver) = mpsc::channel(1000);
        (0..1000).for_each(|n| sender.try_send(n).unwrap());
        let mut encoder = Encoder::default();
        poll_fn(|context| {
            // A task may receive this many messages in a row.
            while receiver.poll_recv(context).is_ready() {}
            assert!(!receiver.is_empty(), "the budget has an end");
            ahead.send(InferResponse { part: Part::First as i32, id: 1, ..Default::default() });
            of.encode(context, &mut encoder);
            Poll::Ready(())
        })
        .await;
        assert!(encoder.next_chunk().is_some());
    }

    #[tokio::test]
    async fn many_tokens_are_encoded_in_turns() {
        let tokens = || InferResponse { part: Part::First as i32, id: 1, ..Default::default() };
        let (ahead, mut of) = channel(Tokens::First, burst::MAX_BURST_MESSAGES + 1).unwrap();
        (0..=burst::MAX_BURST_MESSAGES).for_each(|_| assert!(ahead.send(tokens())));
        let mut encoder = Encoder::default();
        let mut lengths = Vec::<usize>::new();
        for _ in 0..3 {
            encode(&mut of, &mut encoder).await;
            lengths.push(std::iter::from_fn(|| encoder.next_chunk()).map(|c| c.len()).sum());
        }
        let one = netdiv_contract::framing::encode(&tokens()).len();
        assert_eq!(lengths, [burst::MAX_BURST_MESSAGES * one, one, 0]);
    }

    #[tokio::test]
    async fn what_waits_is_limited_in_messages_and_in_bytes() {
        let more = |bytes: usize| InferResponse {
            part: Part::More as i32,
            payload: Bytes::from(vec![0; bytes]),
            ..Default::default()
        };
        for (bytes, most) in [(4, MOST_WAITING), (100_000, 11)] {
            let (ahead, mut of) = channel(Tokens::Every, 1).unwrap();
            for _ in 0..2 {
                assert_eq!((0..2000).filter(|_| ahead.send(more(bytes))).count(), most);
                let mut encoder = Encoder::default();
                for _ in 0..=MOST_WAITING / burst::MAX_BURST_MESSAGES {
                    encode(&mut of, &mut encoder).await;
                }
            }
        }
    }
}
