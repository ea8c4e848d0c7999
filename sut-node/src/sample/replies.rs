//! Reply channels: engines send a stream all its replies of a batch at once, and the transport
//! reads them as chunks.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    vec,
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{
    burst, checksum,
    framing::Encoder,
    v1::{self, InferResponse, Tokens},
};
use tokio::sync::mpsc;
use tonic::Status;

use crate::{
    ground::metrics,
    sample::{
        backlog::Backlog,
        digests::Digests,
        early_tokens::{self, EarlyTokenReceiver, EarlyTokenSender},
        sessions::Session,
        streams::{Burst, OpenStream, Streams, WaitingStream},
    },
};

/// Destination of the replies to a sample.
#[derive(Clone)]
pub(crate) enum ReplyTarget {
    /// A client's stream.
    Stream(ReplySender),
    /// A function of this process, and the tokens that it wants before their output is complete.
    Here(Arc<ReplyCallback>, Tokens),
}

type ReplyCallback = dyn Fn(Vec<InferResponse>) + Send + Sync;

impl ReplyTarget {
    pub(crate) fn here(
        answered: impl Fn(Vec<InferResponse>) + Send + Sync + 'static,
        tokens: Tokens,
    ) -> Self {
        Self::Here(Arc::new(answered), tokens)
    }

    /// Returns the tokens that the receiver wants before their output is complete.
    pub(crate) fn tokens(&self) -> Tokens {
        match self {
            Self::Stream(stream) => {
                stream.0.ahead.as_ref().map_or(Tokens::Whole, |ahead| ahead.wanted)
            }
            Self::Here(_, tokens) => *tokens,
        }
    }

    /// Returns the maximum number of tokens of an output that the receiver takes.
    pub(crate) fn max_output_tokens(&self) -> usize {
        match self {
            Self::Stream(stream) if stream.0.max_output_tokens > 0 => {
                stream.0.max_output_tokens as usize
            }
            Self::Stream(_) | Self::Here(..) => usize::MAX,
        }
    }

    /// Sends tokens before the whole output, if the receiver wants them. Returns false if too many
    /// further tokens wait already: `tokens` must then be sent again, with later tokens.
    pub(crate) fn send_early(&self, tokens: InferResponse) -> bool {
        match self {
            Self::Stream(stream) => stream.send_ahead(tokens),
            Self::Here(answered, _) => {
                answered(vec![tokens]);
                true
            }
        }
    }

    /// Sends replies. If the client has disconnected, they are dropped.
    pub(crate) fn send(&self, replies: Vec<InferResponse>) {
        match self {
            Self::Stream(stream) => stream.send(replies),
            Self::Here(answered, _) => answered(replies),
        }
    }

    /// Returns the digests that record the responses; `None` if the session keeps none.
    pub(crate) fn digests(&self) -> Option<&Digests> {
        match self {
            Self::Stream(stream) => stream.0.digests.as_deref(),
            Self::Here(..) => None,
        }
    }

    /// True if the client has disconnected.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Stream(stream) => stream.0.sender.is_closed(),
            Self::Here(..) => false,
        }
    }

    /// True if replies to both targets have the same destination.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stream(one), Self::Stream(other)) => Arc::ptr_eq(&one.0, &other.0),
            (Self::Here(one, _), Self::Here(other, _)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Sending end of a stream's replies. Every sample of the stream has a clone.
#[derive(Debug, Clone)]
pub(crate) struct ReplySender(Arc<ReplyChannel>);

#[derive(Debug)]
struct ReplyChannel {
    sender: mpsc::Sender<Burst>,
    backlog: Arc<Backlog>,
    /// Sender of early tokens, if the client wants them.
    ahead: Option<EarlyTokenSender>,
    digests: Option<Arc<Digests>>,
    /// Maximum number of tokens of an output that the client takes; 0: no limit.
    max_output_tokens: u32,
    /// Set if every reply has a checksum.
    checksums: bool,
    /// Set once a sample of the session has failed.
    has_failed: Arc<AtomicBool>,
}

/// Receiving end of a stream's replies: yields them as encoded chunks.
#[derive(Debug)]
pub(crate) struct Replies {
    receiver: mpsc::Receiver<Burst>,
    backlog: Arc<Backlog>,
    ahead: Option<EarlyTokenReceiver>,
    burst: vec::IntoIter<InferResponse>,
    encoder: Encoder,
    /// End of the stream, once it is known: with a status, or plain. It follows the last burst.
    end: Option<Option<Status>>,
    /// Keeps the session open: a client may end its half and flush while replies are pending.
    _session: Arc<Session>,
    open: OpenStream,
}

/// Creates the two ends of a stream's reply channel; `None` if too many streams are open. The node
/// does not read a stream that owes `max_samples` replies, as many as the node admits samples. The
/// channel therefore has room for this number of replies, one more burst, and one error.
pub(crate) fn channel(
    streams: &Arc<Streams>,
    max_samples: usize,
    max_bytes: usize,
    session: Arc<Session>,
    checksums: bool,
    tokens: Tokens,
) -> Option<(ReplySender, Replies)> {
    let most_owed = max_samples + burst::MAX_BURST_MESSAGES;
    let (sender, receiver) = mpsc::channel(most_owed + 1);
    let backlog = Arc::new(Backlog::new(max_samples, max_bytes));
    let (digests, has_failed) = (session.digests.clone(), session.has_failed.clone());
    let (ahead, ahead_of) = early_tokens::channel(tokens, most_owed).unzip();
    let open = streams.add(WaitingStream::new(&sender, &backlog))?;
    let way_back = ReplyChannel {
        sender,
        backlog: backlog.clone(),
        ahead,
        digests,
        max_output_tokens: session.max_output_tokens,
        checksums,
        has_failed,
    };
    let sender = ReplySender(Arc::new(way_back));
    let replies = Replies {
        receiver,
        backlog,
        ahead: ahead_of,
        burst: Vec::new().into_iter(),
        encoder: Encoder::default(),
        end: None,
        _session: session,
        open,
    };
    Some((sender, replies))
}

impl ReplySender {
    /// Sends replies. If the client has disconnected, they are dropped.
    pub(crate) fn send(&self, mut replies: Vec<InferResponse>) {
        if self.0.checksums {
            for reply in &mut replies {
                reply.crc32c = Some(checksum::response_checksum(reply));
            }
        }
        if replies.iter().any(|reply| reply.status() != v1::Status::Ok) {
            self.0.has_failed.store(true, Ordering::Relaxed);
        }
        let bytes: usize = replies.iter().map(|reply| reply.payload.len()).sum();
        self.0.backlog.add_reply_bytes(bytes);
        let samples = replies.len();
        if self.0.sender.try_send(Ok(replies)).is_err() {
            metrics::abandoned(samples);
        }
    }

    fn send_ahead(&self, mut tokens: InferResponse) -> bool {
        let Some(ahead) = &self.0.ahead else { return true };
        if self.0.checksums {
            tokens.crc32c = Some(checksum::response_checksum(&tokens));
        }
        ahead.send(tokens)
    }

    /// Ends the stream with an error, without the pending replies.
    pub(crate) fn fail(&self, status: Status) {
        let _ = self.0.sender.try_send(Err(status));
    }

    /// Ends the stream with an error once all samples that were read are answered.
    pub(crate) fn end_with(&self, farewell: Status) {
        self.0.backlog.set_closing_status(farewell);
    }

    /// Waits until the client has disconnected.
    pub(crate) async fn closed(&self) {
        self.0.sender.closed().await;
    }

    /// True if the stream's messages have checksums, in both directions.
    pub(crate) fn has_checksums(&self) -> bool {
        self.0.checksums
    }

    pub(crate) fn backlog(&self) -> &Backlog {
        &self.0.backlog
    }
}

impl Replies {
    /// Encodes replies of the current burst, up to a limit in bytes.
    fn encode(&mut self) {
        // First tokens overtake replies that are not encoded yet.
        let most =
            if self.ahead.is_some() { early_tokens::BETWEEN_BYTES } else { burst::MAX_BURST_BYTES };
        let (mut samples, mut bytes) = (0, 0);
        while bytes < most
            && let Some(response) = self.burst.next()
        {
            samples += 1;
            bytes += response.payload.len();
            self.encoder.push(response);
        }
        if samples > 0 {
            self.backlog.subtract_sent(samples, bytes);
            self.open.answered(samples);
        }
    }
}

impl Stream for Replies {
    type Item = Result<Bytes, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if this.encoder.has_whole_chunk() {
                return Poll::Ready(this.encoder.next_chunk().map(Ok));
            }
            // The first tokens of a burst were sent before it, and are encoded before it.
            if let Some(ahead) = &mut this.ahead
                && !ahead.encode(context, &mut this.encoder)
            {
                continue;
            }
            this.encode();
            if this.burst.len() > 0 {
                continue;
            }
            // Bursts that are ready are sent together: a burst of a language model holds a single
            // reply.
            if this.end.is_none() {
                this.end = match this.receiver.poll_recv(context) {
                    Poll::Ready(Some(Ok(burst))) => {
                        this.burst = burst.into_iter();
                        continue;
                    }
                    Poll::Ready(Some(Err(status))) => Some(Some(status)),
                    Poll::Ready(None) => Some(this.backlog.closing_status()),
                    Poll::Pending => None,
                };
            }
            return match this.encoder.next_chunk() {
                Some(chunk) => Poll::Ready(Some(Ok(chunk))),
                None => this.end.take().map_or(Poll::Pending, |end| Poll::Ready(end.map(Err))),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use netdiv_contract::{framing::Decoder, v1::Part};

    use super::*;
    use crate::sample::sessions::Sessions;

    fn stream(tokens: Tokens) -> (ReplySender, Replies) {
        let session = Sessions::default().join(&Default::default()).unwrap();
        channel(&Arc::default(), 100, 1 << 20, session, false, tokens).unwrap()
    }

    async fn next(replies: &mut Replies) -> Option<Result<Bytes, Status>> {
        poll_fn(|context| Pin::new(&mut *replies).poll_next(context)).await
    }

    fn reply(bytes: usize) -> Vec<InferResponse> {
        vec![InferResponse { payload: vec![7; bytes].into(), ..Default::default() }]
    }

    #[tokio::test]
    async fn bursts_that_are_ready_go_out_together_and_what_follows_is_not_lost() {
        for tokens in [Tokens::Whole, Tokens::First] {
            let (sender, mut replies) = stream(tokens);
            sender.backlog().add_samples(20);
            (0..20).for_each(|_| sender.send(reply(1000)));
            sender.fail(Status::data_loss("torn"));
            let chunk = next(&mut replies).await.unwrap().unwrap();
            assert!(chunk.len() > 20_000, "{} bytes", chunk.len());
            let end = next(&mut replies).await.unwrap().unwrap_err();
            assert_eq!(end.message(), "torn");
            assert_eq!(replies.backlog.owed(), 0);
        }
    }

    #[tokio::test]
    async fn a_first_token_goes_past_whole_outputs_that_wait() {
        let (sender, mut replies) = stream(Tokens::First);
        sender.backlog().add_samples(1000);
        let answers =
            |id| InferResponse { id, payload: vec![7; 1000].into(), ..Default::default() };
        sender.send((0..999).map(answers).collect());
        let mut decoder = Decoder::new(1 << 20);
        decoder.push(next(&mut replies).await.unwrap().unwrap());
        let first = InferResponse { id: 999, part: Part::First as i32, ..Default::default() };
        assert!(sender.send_ahead(first));
        drop(sender);
        while let Some(chunk) = next(&mut replies).await {
            decoder.push(chunk.unwrap());
        }
        let mut order: Vec<InferResponse> = Vec::new();
        decoder.take_messages(&mut order).unwrap();
        let place = order.iter().position(|reply| reply.id == 999).expect("it is sent");
        // Outputs that were already encoded precede it.
        assert!(place < 200, "{place} outputs of {} come before it", order.len());
        let others: Vec<_> = order.iter().map(|reply| reply.id).filter(|id| *id < 999).collect();
        assert!(others.iter().copied().eq(0..999));
    }

    #[tokio::test]
    async fn more_bursts_than_a_task_may_receive_in_a_row_all_go_out() {
        let (sender, mut replies) = stream(Tokens::Whole);
        (0..300).for_each(|_| sender.send(vec![InferResponse::default()]));
        let one = netdiv_contract::framing::encode(&InferResponse::default()).len();
        drop(sender);
        let mut bytes = 0;
        while let Some(chunk) = next(&mut replies).await {
            bytes += chunk.unwrap().len();
        }
        assert_eq!(bytes, 300 * one);
    }

    #[tokio::test]
    async fn a_chunk_that_is_full_does_not_wait_for_the_rest() {
        let (sender, mut replies) = stream(Tokens::Whole);
        (0..90).for_each(|_| sender.send(reply(1000)));
        drop(sender);
        let mut lengths = Vec::new();
        while let Some(chunk) = next(&mut replies).await {
            lengths.push(chunk.unwrap().len());
        }
        assert!(lengths.len() == 3 && lengths[..2].iter().all(|n| *n < 40_000), "{lengths:?}");
        assert!(lengths.iter().sum::<usize>() > 90_000, "{lengths:?}");
    }
}
