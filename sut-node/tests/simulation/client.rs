//! A client with one stream, and its connection to the node.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{
    burst::{BurstOutcome, Messages},
    checksum, encoding, tokens,
    v1::{self, InferRequest, InferResponse, Part, Tokens},
};
use parking_lot::Mutex;
use tonic::Status;

use crate::sample::replies::Replies;

/// Maximum message length, in bytes: more than any message here has.
pub(super) const LONGEST: usize = 10_000;

/// Flag that is set once a task is woken. A task that is not woken is not polled, so a lost wake-up
/// is a hang.
#[derive(Debug)]
pub(super) struct Flag(pub(super) AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Flag {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// Chunks from a client to the node.
#[derive(Debug, Default)]
pub(super) struct WireState {
    pub(super) chunks: VecDeque<Result<Bytes, Status>>,
    pub(super) ended: bool,
    pub(super) waker: Option<Waker>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Wire(pub(super) Arc<Mutex<WireState>>);

impl Wire {
    pub(super) fn change(&self, change: impl FnOnce(&mut WireState)) {
        let mut way = self.0.lock();
        change(&mut way);
        if let Some(waker) = way.waker.take() {
            waker.wake();
        }
    }
}

impl Stream for Wire {
    type Item = Result<Bytes, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut way = self.0.lock();
        match way.chunks.pop_front() {
            Some(chunk) => Poll::Ready(Some(chunk)),
            None if way.ended => Poll::Ready(None),
            None => {
                way.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Task of the node that reads a stream.
pub(super) type Reading = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A client with one stream.
pub(super) struct SimulatedClient {
    pub(super) name: String,
    pub(super) wire: Wire,
    pub(super) checksums: bool,
    pub(super) tokens: Tokens,
    pub(super) reading: Option<Reading>,
    pub(super) may_read: Arc<Flag>,
    pub(super) replies: Option<Messages<Replies>>,
    pub(super) may_take: Arc<Flag>,
    /// Requests without a whole reply, with the tokens received so far.
    pub(super) open: BTreeMap<u64, (InferRequest, Vec<u8>)>,
    pub(super) answered: u64,
    pub(super) ended: bool,
    pub(super) end: Option<Result<(), Status>>,
}

impl SimulatedClient {
    /// Polls the node's reading task, if it was woken. Returns false if not.
    pub(super) fn read(&mut self) -> bool {
        let Some(reading) = &mut self.reading else { return false };
        if !self.may_read.take() {
            return false;
        }
        let waker = Waker::from(self.may_read.clone());
        if reading.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            self.reading = None;
        }
        true
    }

    /// Reads some replies, if the client was woken, and checks that they are its own. Returns false
    /// if it was not woken.
    pub(super) fn take(&mut self) -> bool {
        let Some(replies) = &mut self.replies else { return false };
        if !self.may_take.take() {
            return false;
        }
        let waker = Waker::from(self.may_take.clone());
        let mut burst = Vec::new();
        let next = {
            let mut next = std::pin::pin!(replies.next_burst::<InferResponse>(&mut burst));
            next.as_mut().poll(&mut Context::from_waker(&waker))
        };
        for reply in burst {
            if self.checksums {
                checksum::check_response(&reply).unwrap();
            }
            match reply.part() {
                Part::Whole => self.whole(reply),
                part => self.ahead(part, &reply),
            }
        }
        match next {
            Poll::Pending => {}
            Poll::Ready(Ok(BurstOutcome::End)) => self.end = Some(Ok(())),
            Poll::Ready(Err(status)) => self.end = Some(Err(status)),
            // There may be more.
            Poll::Ready(Ok(_)) => self.may_take.0.store(true, Ordering::SeqCst),
        }
        if self.end.is_some() {
            self.replies = None;
        }
        true
    }

    /// Checks tokens that arrive before their output: the requested ones, in order, the first one
    /// alone.
    fn ahead(&mut self, part: Part, reply: &InferResponse) {
        let (asked, got) = self.open.get_mut(&reply.id).unwrap();
        let count = tokens::ids(&reply.payload).len();
        assert_eq!(
            (part == Part::First, count == reply.token_count as usize),
            (got.is_empty(), true)
        );
        match part {
            Part::First => assert_eq!((self.tokens != Tokens::Whole, count), (true, 1)),
            _ => assert!(self.tokens == Tokens::Every && count > 0),
        }
        got.extend(&reply.payload);
        assert!(asked.payload.starts_with(got), "tokens of another sample");
    }

    fn whole(&mut self, reply: InferResponse) {
        self.answered += 1;
        let asked = self.open.remove(&reply.id);
        let (asked, got) =
            asked.unwrap_or_else(|| panic!("{} did not ask {}", self.name, reply.id));
        if reply.status() != v1::Status::Ok {
            return assert!(!reply.error.is_empty());
        }
        let InferResponse { encoding, payload, decoded_bytes, token_count, .. } = reply;
        let payload = encoding::decode(encoding, payload, decoded_bytes, LONGEST).unwrap();
        if token_count == 0 {
            return assert_eq!((payload, got.len()), (asked.payload, 0), "another answer");
        }
        assert_eq!(got.is_empty(), self.tokens == Tokens::Whole, "the first token comes first");
        assert_eq!(tokens::ids(&payload).len(), token_count as usize);
        assert!(payload.starts_with(&got), "the output goes on where its tokens ended");
        assert_eq!(payload, super::streaming_faults::words(&asked.payload), "another answer");
    }
}
