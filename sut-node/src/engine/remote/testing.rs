//! Shared parts of tests of engines: samples, their replies, and the served model.

use std::{
    future::poll_fn,
    time::{Duration, Instant},
};

use netdiv_contract::{
    SessionHeader,
    burst::Messages,
    encoding::Encoding,
    layout::{DataType, TensorView, pack},
    tokens,
    v1::{InferResponse, Part, Status, Tokens},
};
use netdiv_transport::security::ClientTls;
use tokio::time::timeout;

use crate::{
    engine::{interface::WaitingEngine, remote::server_settings::ServersConfig, sink::Sink},
    ground::clock::Clock,
    model::{
        identity::Model, payload::Payload, served_model::ServedModel, token_limits::TokenLimits,
    },
    sample::{
        queued_sample::QueuedSample,
        replies::{self, Replies, ReplyTarget},
        sessions::Sessions,
    },
};

/// Prompt of the recorded responses.
pub(crate) const PROMPT: [i64; 4] = [1, 5, 9, 13];

/// Returns the model of the recorded responses and of the fake servers.
pub(crate) fn tiny(max_tokens: u32, eos: &[u32]) -> ServedModel {
    ServedModel {
        name: "tiny".into(),
        sha256: String::new(),
        vocabulary: 2048,
        max_input_tokens: 512,
        max_tokens,
        min_tokens: 1,
        eos: eos.to_vec(),
        sampled: false,
        speculative_decoding: None,
    }
}

/// Returns settings that lead to servers at these addresses.
pub(crate) fn servers(urls: &[&str]) -> ServersConfig {
    ServersConfig {
        urls: urls.iter().map(|url| url.parse().unwrap()).collect(),
        token: None,
        tls: ClientTls::without_authority().unwrap(),
        timeout: Duration::from_secs(60),
        start_timeout: Duration::ZERO,
    }
}

/// Returns a client's stream, which asks for these tokens, and the replies on it.
pub(crate) fn client(tokens: Tokens) -> (ReplyTarget, Messages<Replies>) {
    limited_client(tokens, 0)
}

/// Like [`client`], for a client that takes at most this number of tokens.
pub(crate) fn limited_client(
    tokens: Tokens,
    max_output_tokens: u32,
) -> (ReplyTarget, Messages<Replies>) {
    let header = SessionHeader { max_output_tokens, ..SessionHeader::default() };
    let session = Sessions::default().join(&header).unwrap();
    let channel = replies::channel(&Default::default(), 10, 10_000, session, false, tokens);
    let (sender, replies) = channel.unwrap();
    (ReplyTarget::Stream(sender), Messages::new(replies, 10_000))
}

/// Returns samples with the recorded prompt, and the stream of their replies, which asks for first
/// tokens.
pub(crate) fn samples(count: u64) -> (Vec<(Payload, Sink)>, Messages<Replies>) {
    let (client, replies) = client(Tokens::First);
    let model = Model::of_tokens("served", TokenLimits::default());
    let data = tokens::to_bytes(&PROMPT.map(|id| id as i32));
    let shape = vec![PROMPT.len()];
    let prompt = pack(&[TensorView { data_type: DataType::Int32, shape, data: &data }]);
    let sample = |id| {
        let sample = QueuedSample::empty(id, client.clone());
        let sink = Sink::new(sample, Clock::default(), Encoding::None);
        (model.read(prompt.clone()).unwrap(), sink)
    };
    ((0..count).map(sample).collect(), replies)
}

pub(crate) async fn next(replies: &mut Messages<Replies>) -> InferResponse {
    replies.next_message().await.unwrap().unwrap()
}

fn ids(reply: &InferResponse) -> Vec<i32> {
    tokens::ids(&reply.payload).collect()
}

/// Receives the replies to `count` samples, in any order. Each sample receives the first token, 7,
/// and then all tokens, 7 to 9.
pub(crate) async fn expect_answers(count: u64, replies: &mut Messages<Replies>) {
    let (mut firsts, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..2 * count {
        let reply = next(replies).await;
        assert_eq!(reply.status(), Status::Ok, "{}", reply.error);
        match reply.part() {
            Part::First => {
                assert_eq!(ids(&reply), [7]);
                firsts.push(reply.id);
            }
            _ => {
                assert_eq!((ids(&reply), reply.token_count), (vec![7, 8, 9], 3));
                assert!(firsts.contains(&reply.id), "the first token comes first");
                wholes.push(reply.id);
            }
        }
    }
    firsts.sort_unstable();
    wholes.sort_unstable();
    assert!(firsts.iter().copied().eq(0..count) && wholes == firsts);
}

/// Runs one sample, and waits until no sample is in flight.
pub(crate) async fn one_is_answered(engine: &mut impl WaitingEngine) {
    let (samples, mut replies) = samples(1);
    engine.begin(samples).unwrap();
    expect_answers(1, &mut replies).await;
    none_is_under_way(engine).await;
}

/// Runs the engine's steps, as its task does, until no sample is in flight.
pub(crate) async fn none_is_under_way(engine: &mut impl WaitingEngine) {
    let going_on = async {
        while engine.in_flight() > 0 {
            poll_fn(|context| engine.poll_due(context)).await;
            engine.step().unwrap();
        }
    };
    timeout(PATIENCE, going_on).await.expect("it never came to that");
}

/// Maximum time of any wait.
const PATIENCE: Duration = Duration::from_secs(30);

const LOOK: Duration = Duration::from_millis(5);

pub(crate) async fn wait_until(is_so: impl Fn() -> bool) {
    let before = Instant::now();
    while !is_so() {
        assert!(before.elapsed() < PATIENCE, "it never came to that");
        tokio::time::sleep(LOOK).await;
    }
}

/// Like [`wait_until`], but fails if it takes longer than a second.
pub(crate) async fn within_a_second(is_so: impl Fn() -> bool) {
    let before = Instant::now();
    wait_until(is_so).await;
    assert!(before.elapsed() < Duration::from_secs(1), "it took {:?}", before.elapsed());
}

/// Like [`wait_until`], but blocks the thread, without a runtime.
pub(crate) fn wait_for(is_so: impl Fn() -> bool) {
    let before = Instant::now();
    while !is_so() {
        assert!(before.elapsed() < PATIENCE, "it never came to that");
        std::thread::sleep(LOOK);
    }
}
