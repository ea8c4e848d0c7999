//! Tests of the replies of one burst to three samples in flight: replies that LoadGen receives,
//! replies that are only counted, and replies that fail the run.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Instant,
};

use bytes::Bytes;
use futures_core::Stream as _;
use netdiv_contract::{
    checksum,
    encoding::{Encoded, Encoding, encode},
    framing::Decoder,
    v1::{DescribeResponse, InferRequest, InferResponse, Part, Status},
};
use netdiv_node_common::words::AnswerTokens;
use parking_lot::Mutex;

use super::{Answers, handle};
use crate::{
    Failure, LoadGen, LoadedSamples, NodeReport, Policy,
    dispatch::Dispatch,
    inbox::QueuedSample,
    lane::{Lane, ResponseRules},
    run::Run,
    sender::RequestStream,
    tokens::AnnouncedTokens,
    window::Window,
};

/// LoadGen that keeps a list of its calls, in order.
#[derive(Default)]
struct RecordingLoadGen(Mutex<Answered>);

/// Calls of LoadGen: the ticket of each, with the response; `None` for a first token, and the
/// number of tokens as its text.
type Answered = Vec<(u64, Option<Bytes>)>;

impl LoadGen for Arc<RecordingLoadGen> {
    type Ticket = u64;

    fn first_token(&self, ticket: &mut u64, _: &Bytes) {
        self.0.lock().push((*ticket, None));
    }

    fn set_token_count(&self, ticket: &mut u64, tokens: u32) {
        self.0.lock().push((*ticket, Some(tokens.to_string().into())));
    }

    fn complete(&self, tickets: &mut Vec<u64>, payloads: &[Bytes]) {
        let answers = tickets.drain(..).zip(payloads.iter().cloned().map(Some));
        self.0.lock().extend(answers);
    }
}

const AGREED: ResponseRules = ResponseRules {
    tokens: AnswerTokens::Uncounted,
    token_bounds: None,
    announced: None,
    token_counts: false,
    never_empty: false,
};

/// Returns a LoadGen, a lane with three samples in flight (tickets 0 to 2), and the samples' ids on
/// the wire.
fn lane(agreed: ResponseRules) -> (Arc<RecordingLoadGen>, Lane<Arc<RecordingLoadGen>>, [u64; 3]) {
    let told = Arc::<RecordingLoadGen>::default();
    let sample = Encoded {
        bytes: Bytes::from_static(b"sample"),
        encoding: Encoding::None,
        decoded_bytes: 0,
        crc32c: None,
    };
    let source = Arc::new(LoadedSamples::from([Some(sample)]));
    let run = Arc::new(Run::new(told.clone(), source, Dispatch::new(Policy::Pull, 1, 8), 1, None));
    let window = Window::new(8, 1 << 20, None);
    let report = NodeReport::new("far", "far:1");
    let lane = Arc::new(Lane::new(0, 0, run.clone(), window, 1, agreed, report));
    run.add_issued(3);
    let pending = |ticket| QueuedSample { ticket, index: 0, issued: Instant::now() };
    run.dispatch.push(&mut (0..3).map(pending)).ok().unwrap();
    let (mut outgoing, mut requests) = (RequestStream::new(lane.clone()), Decoder::new(1 << 20));
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(chunk)) = Pin::new(&mut outgoing).poll_next(&mut context) {
        requests.push(chunk);
    }
    drop(outgoing);
    let mut sent = Vec::<InferRequest>::new();
    requests.take_messages(&mut sent).unwrap();
    let ids = sent.iter().map(|request| request.id).collect::<Vec<_>>().try_into().unwrap();
    (told, Arc::into_inner(lane).unwrap(), ids)
}

fn reply(id: u64, payload: &'static [u8]) -> InferResponse {
    InferResponse { id, payload: payload.into(), batch_size: 1, ..InferResponse::default() }
}

fn told_of(
    agreed: ResponseRules,
    checksums: bool,
    replies: impl FnOnce([u64; 3]) -> Vec<InferResponse>,
) -> (Answered, Result<(), Failure>, NodeReport) {
    let (told, lane, ids) = lane(agreed);
    let handled = handle(&lane, &mut replies(ids), &mut Answers::new(), checksums);
    let report = lane.state.lock().report.clone();
    let told = told.0.lock().clone();
    (told, handled, report)
}

fn answer(ticket: u64, payload: &'static [u8]) -> (u64, Option<Bytes>) {
    (ticket, Some(Bytes::from_static(payload)))
}

#[test]
fn answers_go_to_their_tickets_in_the_order_in_which_they_came() {
    let (told, handled, report) = told_of(AGREED, false, |[a, b, c]| {
        let zstd = encode(Encoding::Zstd, Bytes::from_static(b"cccc")).unwrap();
        let encoded = InferResponse {
            payload: zstd.bytes,
            encoding: Encoding::Zstd as i32,
            decoded_bytes: zstd.decoded_bytes,
            ..reply(c, b"")
        };
        vec![encoded, reply(a, b"a"), reply(b, b"")]
    });
    assert_eq!(
        (told, handled),
        (vec![answer(2, b"cccc"), answer(0, b"a"), answer(1, b"")], Ok(()))
    );
    assert_eq!(report.unmatched, 0);
}

#[test]
fn answers_before_a_wrong_one_are_answers_and_those_behind_it_are_none() {
    let wrong = |change: fn(&mut InferResponse), agreed: ResponseRules| {
        let (told, handled, _) = told_of(agreed, false, |[a, b, c]| {
            let mut wrong = reply(b, b"b");
            change(&mut wrong);
            vec![reply(a, b"a"), wrong, reply(c, b"c")]
        });
        assert_eq!(told, [answer(0, b"a")]);
        handled.unwrap_err().to_string()
    };
    let never_empty = ResponseRules { never_empty: true, ..AGREED };
    type Case = (fn(&mut InferResponse), ResponseRules, &'static str);
    let cases: [Case; 9] = [
        (|reply| reply.status = Status::BadSample as i32, AGREED, "sample"),
        (|reply| reply.status = Status::EngineFailed as i32, AGREED, "engine"),
        (|reply| reply.status = 99, AGREED, "unknown status number 99"),
        (|reply| reply.error = "hm".into(), AGREED, "its status is OK, but it has the error `hm`"),
        (|reply| reply.encoding = 9, AGREED, "unknown encoding number 9"),
        (|reply| reply.encoding = Encoding::Lz4 as i32, AGREED, "lz4"),
        (|reply| reply.payload = Bytes::new(), never_empty, "it is empty"),
        (|reply| reply.part = 77, AGREED, "it is the part 77 of an answer"),
        (|reply| reply.part = Part::First as i32, AGREED, "first token"),
    ];
    for (change, agreed, words) in cases {
        let why = wrong(change, agreed);
        assert!(why.contains(words), "{words}: {why}");
    }
}

#[test]
fn an_output_that_breaks_an_announcement_fails_the_run_also_if_no_tokens_are_counted() {
    let description = DescribeResponse {
        tokens: true,
        vocabulary: 9,
        max_output_tokens: 2,
        end_tokens: vec![1],
        ..DescribeResponse::default()
    };
    for tokens in [AnswerTokens::Uncounted, AnswerTokens::Counted] {
        let agreed =
            ResponseRules { tokens, announced: AnnouncedTokens::of(&description, None), ..AGREED };
        let (told, handled, _) = told_of(agreed, false, |[a, b, _]| {
            let [good, wrong] = [reply(a, &[8, 0, 0, 0, 1, 0, 0, 0]), reply(b, &[9, 0, 0, 0])];
            vec![
                InferResponse { token_count: 2, ..good },
                InferResponse { token_count: 1, ..wrong },
            ]
        });
        assert_eq!(told, [answer(0, &[8, 0, 0, 0, 1, 0, 0, 0])]);
        let why = handled.unwrap_err().to_string();
        assert!(
            why.contains(
                "node far sent an output that contradicts its description or the limit of"
            ),
            "{why}"
        );
        assert!(why.contains("its token 0 is 9, and ids go from 0 to 8"), "{why}");
    }
}

#[test]
fn a_number_of_tokens_beside_a_response_reaches_loadgen_if_it_counts_tokens() {
    let of = |tokens, counts: [u32; 3]| {
        told_of(ResponseRules { tokens, token_counts: true, ..AGREED }, false, |ids| {
            let response = |(id, token_count)| InferResponse { token_count, ..reply(id, b"text") };
            ids.into_iter().zip(counts).map(response).collect()
        })
    };
    let texts = [0, 1, 2].map(|ticket| answer(ticket, b"text"));
    let (told, handled, report) = of(AnswerTokens::Counted, [5, 1, 1]);
    let counts = [answer(0, b"5"), answer(1, b"1"), answer(2, b"1")];
    assert_eq!((told, handled), ([&counts[..], &texts[..]].concat(), Ok(())));
    let tokens = report.tokens.unwrap();
    assert_eq!((tokens.tokens, tokens.one_token), (7, 2));
    assert_eq!(tokens.one_token_samples.into_iter().collect::<Vec<_>>(), [0]);
    let (told, handled, report) = of(AnswerTokens::Uncounted, [5, 0, 0]);
    assert_eq!((told, handled, report.tokens.is_none()), (texts.to_vec(), Ok(()), true));
    let (told, handled, _) = of(AnswerTokens::Counted, [5, 0, 2]);
    assert_eq!(told, [answer(0, b"5"), answer(0, b"text")]);
    let why = handled.unwrap_err().to_string();
    assert!(why.contains("that to sample 0 has a token_count of 0; expected"), "{why}");
}

#[test]
fn impossible_figures_are_counted_and_limited() {
    let description = DescribeResponse { tokens: true, ..DescribeResponse::default() };
    let agreed = ResponseRules {
        tokens: AnswerTokens::Counted,
        announced: AnnouncedTokens::of(&description, None),
        ..AGREED
    };
    let (told, handled, report) = told_of(agreed, false, |[a, b, c]| {
        let good =
            |id| InferResponse { token_count: 1, cached_tokens: 1, ..reply(id, &[8, 0, 0, 0]) };
        let slow = |id| InferResponse {
            queue_ns: u64::MAX,
            compute_ns: u64::MAX,
            first_token_ns: u64::MAX,
            ..good(id)
        };
        // The sample has six bytes.
        vec![good(a), slow(b), InferResponse { cached_tokens: 2, ..good(c) }]
    });
    assert_eq!((told.len(), handled), (3, Ok(())));
    assert_eq!((report.impossible, report.cached_prompt_tokens), (2, 3));
    let tokens = report.tokens.unwrap();
    let longest = report.latency.max();
    for times in [&report.stages.sut_queue, &report.stages.compute, &tokens.prefill] {
        assert!(times.max() <= times.highest_equivalent(longest), "{} {longest}", times.max());
    }
}

#[test]
fn a_damaged_reply_and_all_behind_it_are_dropped() {
    let (told, handled, _) = told_of(AGREED, true, |[a, b, c]| {
        let mut replies = [reply(a, b"a"), reply(b, b"b"), reply(c, b"c")];
        replies
            .iter_mut()
            .for_each(|reply| reply.crc32c = Some(checksum::response_checksum(reply)));
        replies[1].payload = Bytes::from_static(b"x");
        replies.into()
    });
    assert_eq!(told, [answer(0, b"a")]);
    assert!(
        matches!(handled, Err(Failure::Corrupted { ref node, .. }) if node == "far"),
        "{handled:?}"
    );
}

#[test]
fn a_first_token_is_told_at_once_and_its_answer_has_to_begin_with_it() {
    let tokens = ResponseRules { tokens: AnswerTokens::First, ..AGREED };
    let of = |first: &'static [u8], whole: &'static [u8]| {
        told_of(tokens.clone(), false, |[a, ..]| {
            let count = |bytes: &[u8]| (bytes.len() / 4) as u32;
            let part = Part::First as i32;
            let first = InferResponse { part, token_count: count(first), ..reply(a, first) };
            vec![first, InferResponse { token_count: count(whole), ..reply(a, whole) }]
        })
    };
    let (told, handled, report) = of(&[7, 0, 0, 0], &[7, 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(handled, Ok(()));
    assert_eq!(told, [(0, None), answer(0, &[7, 0, 0, 0, 8, 0, 0, 0])]);
    assert!(report.tokens.is_some());
    let (told, handled, _) = of(&[7, 0, 0, 0], &[8, 0, 0, 0]);
    assert!(told == [(0, None)] && handled.is_err(), "{handled:?}");
}
