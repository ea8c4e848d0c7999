//! The answers: to which test they may go, once each, and what of them does not reach LoadGen.

use std::{
    cell::RefCell,
    sync::{
        Mutex, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use netdiv_node_common::words::AnswerTokens;

use crate::ffi;

/// The right to answer one sample, once.
#[derive(Debug)]
pub struct ResponseId {
    pointer: usize,
    test: u32,
    first: First,
}

/// Where a sample is with its first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    NotDue,
    Due,
    Told,
}

/// Bytes of a token.
const TOKEN_BYTES: usize = 4;

/// A test that may be answered.
#[derive(Clone, Copy)]
pub(crate) struct Test {
    /// 0 where none may be.
    pub(crate) number: u32,
    pub(crate) tokens: AnswerTokens,
}

/// The test that may be answered now; [`NO_TEST`] when none runs.
///
/// Whoever completes holds it for reading; ending a test writes it. So no completion is under way when
/// LoadGen starts to take its tables apart, and none begins after.
static OPEN_TEST: RwLock<Test> = RwLock::new(NO_TEST);

/// No test may be answered.
pub(crate) const NO_TEST: Test = Test { number: 0, tokens: AnswerTokens::Uncounted };

impl Test {
    /// For a sample that LoadGen has handed out in this test, once.
    pub(crate) fn response_id(self, pointer: usize) -> ResponseId {
        let first = if self.tokens == AnswerTokens::First { First::Due } else { First::NotDue };
        ResponseId { pointer, test: self.number, first }
    }

    fn is_of(self, id: &ResponseId) -> bool {
        id.test == self.number && self.number != NO_TEST.number
    }
}

/// What LoadGen must not be told, of the test that runs. It ends the test at LoadGen's next call.
static MISUSE: Mutex<Option<&'static str>> = Mutex::new(None);

/// Whether there was any; looked at before the lock is taken.
static IS_MISUSED: AtomicBool = AtomicBool::new(false);

fn note_misuse(what: &'static str) {
    MISUSE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(what);
    IS_MISUSED.store(true, Ordering::SeqCst);
}

pub(crate) fn take_misuse() -> Option<&'static str> {
    if !IS_MISUSED.load(Ordering::SeqCst) {
        return None;
    }
    IS_MISUSED.store(false, Ordering::SeqCst);
    MISUSE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
}

/// Opens a test to answers, or closes it.
pub(crate) fn open_test(test: Test) {
    *OPEN_TEST.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = test;
}

pub(crate) fn current_test() -> Test {
    *OPEN_TEST.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Most answers handed to LoadGen in one call, which bounds the list below.
const LONGEST_CALL: usize = 1024;

thread_local! {
    static RESPONSES: RefCell<Vec<ffi::RawResponse>> = const { RefCell::new(Vec::new()) };
}

/// Answers samples with bytes. LoadGen takes their time now, and copies what it needs before this returns.
///
/// Call it from long-lived threads only: LoadGen's log of a thread that has exited during a test is lost.
/// Answers to a test that is over are dropped.
///
/// Where LoadGen counts tokens, it is told how many int32 the bytes are. An answer without a token, or without a first
/// token where one is due, does not reach LoadGen, which may not survive it: the test ends with an error.
pub fn complete<'a>(answers: impl IntoIterator<Item = (ResponseId, &'a [u8])>) {
    let open = OPEN_TEST.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    RESPONSES.with_borrow_mut(|responses| {
        // Something may be left of a call whose iterator panicked.
        responses.clear();
        let hand_over = |responses: &mut Vec<ffi::RawResponse>| {
            // SAFETY: each id was handed out by the test that runs now (`open` keeps it running) and was
            // consumed by this call, so it is valid and not yet answered. The bytes outlive the call.
            unsafe { ffi::nd_complete(responses.as_mut_ptr(), responses.len()) }
            responses.clear();
        };
        for (id, bytes) in answers {
            if open.is_of(&id) {
                let n_tokens = match open.tokens {
                    AnswerTokens::Uncounted => 0,
                    _ => (bytes.len() / TOKEN_BYTES) as i64,
                };
                if open.tokens != AnswerTokens::Uncounted
                    && let Some(wrong) = wrong_answer(id.first, n_tokens)
                {
                    note_misuse(wrong);
                    continue;
                }
                let (data, size) = (bytes.as_ptr(), bytes.len());
                responses.push(ffi::RawResponse { id: id.pointer, data, size, n_tokens });
            }
            if responses.len() == LONGEST_CALL {
                hand_over(responses);
            }
        }
        if !responses.is_empty() {
            hand_over(responses);
        }
    });
    drop(open);
}

/// What must not reach LoadGen of an answer whose tokens it counts: it looks up the first token, which it may not have been told
/// of, and makes a negative time for each further token where there is none.
fn wrong_answer(first: First, tokens: i64) -> Option<&'static str> {
    match first {
        First::Due => Some("a sample was answered before its first token"),
        _ if tokens == 0 => Some("a sample was answered without a token"),
        _ => None,
    }
}

/// Tells LoadGen of the first token of a sample, which it takes the time of now and reads during this call only.
///
/// Call it once for each sample, from the thread that will complete the sample: LoadGen loses track of a sample whose two
/// calls come from two threads. A first token of a test that is over is dropped. A second one, or one that is not due, does
/// not reach LoadGen: the test ends with an error.
pub fn first_token(id: &mut ResponseId, token: &[u8]) {
    let open = OPEN_TEST.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    if open.is_of(id) {
        if id.first != First::Due {
            note_misuse("a second first token of one sample, or one that is not due");
            return;
        }
        id.first = First::Told;
        let (data, size) = (token.as_ptr(), token.len());
        let mut response = ffi::RawResponse { id: id.pointer, data, size, n_tokens: 1 };
        // SAFETY: the id was handed out by the test that runs now (`open` keeps it running), and is not answered yet, as
        // answering consumes it. The bytes outlive the call.
        unsafe { ffi::nd_first_token(&raw mut response, 1) }
    }
    drop(open);
}
