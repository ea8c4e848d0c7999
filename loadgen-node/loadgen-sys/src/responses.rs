//! Responses to samples: the test that accepts them, each once, and the responses that must not
//! reach LoadGen.

use std::{
    cell::RefCell,
    sync::{
        Mutex, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use netdiv_node_common::words::AnswerTokens;

use crate::ffi;

/// Right to complete one sample, once.
#[derive(Debug)]
pub struct ResponseId {
    pointer: usize,
    test: u32,
    first: FirstTokenState,
    /// Number of the model's tokens; `None` if the response consists of token ids.
    tokens: Option<u32>,
}

impl ResponseId {
    /// Sets the number of the model's tokens of a response that does not consist of token ids.
    pub fn set_token_count(&mut self, tokens: u32) {
        self.tokens = Some(tokens);
    }
}

/// State of a sample's first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstTokenState {
    NotDue,
    Due,
    Told,
}

const TOKEN_BYTES: usize = 4;

/// Test that accepts responses.
#[derive(Clone, Copy)]
pub(crate) struct OpenTest {
    /// Number of the test, from 1; 0 if no test runs.
    pub(crate) number: u32,
    pub(crate) tokens: AnswerTokens,
}

/// Test that accepts responses now; [`NO_TEST`] if no test runs.
///
/// Completing samples locks it for reading, and ending a test locks it for writing. So no
/// completion is under way when LoadGen starts to free its tables, and no completion begins
/// afterwards.
static OPEN_TEST: RwLock<OpenTest> = RwLock::new(NO_TEST);

/// Placeholder while no test accepts responses.
pub(crate) const NO_TEST: OpenTest = OpenTest { number: 0, tokens: AnswerTokens::Uncounted };

impl OpenTest {
    /// Creates the id of a sample that LoadGen has issued in this test. Call it once for each
    /// sample.
    pub(crate) fn response_id(self, pointer: usize) -> ResponseId {
        let first = if self.tokens == AnswerTokens::First {
            FirstTokenState::Due
        } else {
            FirstTokenState::NotDue
        };
        ResponseId { pointer, test: self.number, first, tokens: None }
    }

    fn is_of(self, id: &ResponseId) -> bool {
        id.test == self.number && self.number != NO_TEST.number
    }
}

/// Reason why the running test must end: a call that must not reach LoadGen. It ends the test at
/// LoadGen's next call.
static MISUSE: Mutex<Option<&'static str>> = Mutex::new(None);

/// Set if [`MISUSE`] holds a reason; read before the mutex is locked.
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

/// Opens a test for responses; [`NO_TEST`] closes it.
pub(crate) fn open_test(test: OpenTest) {
    *OPEN_TEST.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = test;
}

pub(crate) fn current_test() -> OpenTest {
    *OPEN_TEST.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Maximum number of responses in one call of LoadGen, which bounds the list below.
const MAX_RESPONSES_PER_CALL: usize = 1024;

thread_local! {
    static RESPONSES: RefCell<Vec<ffi::RawResponse>> = const { RefCell::new(Vec::new()) };
}

/// Completes samples with the bytes of their responses. LoadGen takes the time now, and copies what
/// it needs before this returns.
///
/// Call it from long-lived threads only: LoadGen loses the log of a thread that exits during a
/// test. Responses to a test that is over are dropped.
///
/// If LoadGen counts tokens, it gets the number that [`ResponseId::set_token_count`] has set, or
/// else the number of int32 values in the bytes. LoadGen may not survive a response without a token,
/// or a response whose due first token was not reported. Such a response does not reach LoadGen: the
/// test ends with an error.
pub fn complete<'a>(answers: impl IntoIterator<Item = (ResponseId, &'a [u8])>) {
    let open = OPEN_TEST.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    RESPONSES.with_borrow_mut(|responses| {
        // A call whose iterator panicked may have left responses.
        responses.clear();
        let hand_over = |responses: &mut Vec<ffi::RawResponse>| {
            // SAFETY: each id was issued by the test that runs now (`open` keeps it running) and
            // was consumed by this call, so it is valid and not yet completed. The bytes outlive
            // the call.
            unsafe { ffi::nd_complete(responses.as_mut_ptr(), responses.len()) }
            responses.clear();
        };
        for (id, bytes) in answers {
            if open.is_of(&id) {
                let n_tokens = match (open.tokens, id.tokens) {
                    (AnswerTokens::Uncounted, _) => 0,
                    (_, Some(tokens)) => tokens.into(),
                    (_, None) => (bytes.len() / TOKEN_BYTES) as i64,
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
            if responses.len() == MAX_RESPONSES_PER_CALL {
                hand_over(responses);
            }
        }
        if !responses.is_empty() {
            hand_over(responses);
        }
    });
    drop(open);
}

/// Returns the reason why a response must not reach LoadGen if it counts tokens: LoadGen looks up
/// the first token, which may be missing, and computes a negative time per further token if the
/// response has no token.
fn wrong_answer(first: FirstTokenState, tokens: i64) -> Option<&'static str> {
    match first {
        FirstTokenState::Due => Some("a sample was answered before its first token"),
        _ if tokens == 0 => Some("a sample was answered without a token"),
        _ => None,
    }
}

/// Reports the first token of a sample to LoadGen, which takes the time now and reads the token
/// during this call only.
///
/// Call it once for each sample, from the thread that will complete the sample: LoadGen loses track
/// of a sample whose two calls come from two threads. A first token of a test that is over is
/// dropped. A second first token, or one that is not due, does not reach LoadGen: the test ends
/// with an error.
pub fn first_token(id: &mut ResponseId, token: &[u8]) {
    let open = OPEN_TEST.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    if open.is_of(id) {
        if id.first != FirstTokenState::Due {
            note_misuse("a second first token of one sample, or one that is not due");
            return;
        }
        id.first = FirstTokenState::Told;
        let (data, size) = (token.as_ptr(), token.len());
        let mut response = ffi::RawResponse { id: id.pointer, data, size, n_tokens: 1 };
        // SAFETY: the id was issued by the test that runs now (`open` keeps it running), and is not
        // yet completed, because completing consumes it. The bytes outlive the call.
        unsafe { ffi::nd_first_token(&raw mut response, 1) }
    }
    drop(open);
}
