//! An instance with samples, as the engine's thread drives it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_contract::{
    burst::Messages,
    encoding::Encoding,
    layout::{DataType, TensorView, pack},
    tokens,
    v1::{InferResponse, Part, Status, Tokens},
};

use super::fake::{Act, Fake, chunk, events, head, settings, tiny};
use crate::{
    clock::Clock,
    engine::{
        interface::StreamingEngine,
        remote::servers::Servers,
        served::{
            engine::{Served, served},
            exchange::Exchange,
        },
        sink::Sink,
    },
    intake::{
        replies::{self, Replies, ReplyTo},
        sessions::Sessions,
    },
    model::{identity::Model, payload::Payload, token_limits::TokenLimits},
    sample::Sample,
    settings::served::Dialect::Vllm,
};

const ANSWER: [&str; 4] = [
    r#"{"choices":[{"index":0,"token_ids":[7,8]}]}"#,
    r#"{"choices":[{"index":0,"token_ids":[9],"finish_reason":"length"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":3}}"#,
    "[DONE]",
];

fn engine(urls: &[&str], most: usize) -> Served {
    let settings = settings(urls, Vllm, tiny(3, &[]));
    let servers = Arc::new(Servers::new(&settings.servers.urls));
    served(Exchange::new(Arc::new(settings)), servers, most, Arc::default()).unwrap()
}

/// Samples with the recorded prompt, and the stream of their replies.
pub(super) fn samples(count: u64) -> (Vec<(Payload, Sink)>, Messages<Replies>) {
    let session = Sessions::default().join(&Default::default()).unwrap();
    let (sender, replies) =
        replies::channel(&Arc::default(), 10, 10_000, session, false, Tokens::First).unwrap();
    let model = Model::of_tokens("openai", TokenLimits::default());
    let data = tokens::to_bytes(&[1, 5, 9, 13]);
    let prompt = pack(&[TensorView { data_type: DataType::Int32, shape: vec![4], data: &data }]);
    let sample = |id| {
        let sample = Sample {
            id,
            payload: Payload::default(),
            digest: None,
            length: 1,
            arrived: Instant::now(),
            admitted: None,
            replies: ReplyTo::Stream(sender.clone()),
        };
        let sink = Sink::new(sample, Clock::default(), Encoding::None);
        (model.read(prompt.clone()).unwrap(), sink)
    };
    ((0..count).map(sample).collect(), Messages::new(replies, 10_000))
}

pub(super) async fn next(replies: &mut Messages<Replies>) -> InferResponse {
    replies.next_message().await.unwrap().unwrap()
}

pub(super) fn ids(bytes: &Bytes) -> Vec<i32> {
    tokens::ids(bytes).collect()
}

#[tokio::test]
async fn samples_are_answered_each_by_itself() {
    let server = Fake::always(events(&ANSWER));
    let mut engine = engine(&[&server.url], 3);
    let (samples, mut replies) = samples(3);
    engine.begin(samples).unwrap();
    let (mut firsts, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let reply = next(&mut replies).await;
        assert_eq!(reply.status(), Status::Ok, "{}", reply.error);
        match reply.part() {
            Part::First => {
                assert_eq!(ids(&reply.payload), [7]);
                firsts.push(reply.id);
            }
            _ => {
                assert_eq!((ids(&reply.payload), reply.token_count), (vec![7, 8, 9], 3));
                wholes.push(reply.id);
            }
        }
    }
    firsts.sort_unstable();
    wholes.sort_unstable();
    assert_eq!([firsts, wholes], [[0, 1, 2], [0, 1, 2]]);
    wait_until(|| engine.under_way() == 0).await;
    tokio::task::spawn_blocking(move || {
        assert_eq!(engine.room(), 3);
        // Nothing is under way: a step waits for a moment, and not for ever.
        engine.step().unwrap();
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Fake::always(events(&ANSWER));
    let mut engine = engine(&[&server.url], 1);
    for _ in 0..3 {
        let (samples, mut replies) = samples(1);
        engine.begin(samples).unwrap();
        next(&mut replies).await;
        assert_eq!(ids(&next(&mut replies).await.payload), [7, 8, 9]);
        wait_until(|| engine.under_way() == 0).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    drop(engine);
}

#[tokio::test]
async fn a_connection_that_the_server_closes_meanwhile_loses_no_request() {
    let server = Fake::start(|number, _| match number {
        1 => vec![Act::Close],
        _ => events(&ANSWER),
    });
    let mut engine = engine(&[&server.url], 1);
    for _ in 0..2 {
        let (samples, mut replies) = samples(1);
        engine.begin(samples).unwrap();
        next(&mut replies).await;
        assert_eq!(ids(&next(&mut replies).await.payload), [7, 8, 9]);
        wait_until(|| engine.under_way() == 0).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.requests.lock().len(), 3);
    drop(engine);
}

/// Every way out cuts the requests at the server, within a second.
#[tokio::test]
async fn requests_that_nobody_waits_for_are_cut() {
    for answer in [vec![Act::Hang], vec![head(), chunk(b"data: {\"choices\":[]}\n\n"), Act::Hang]] {
        for way in 0..3 {
            let server = Fake::always(answer.clone());
            let mut settings = settings(&[&server.url], Vllm, tiny(3, &[]));
            settings.servers.timeout = Duration::from_secs(60);
            let servers = Arc::new(Servers::new(&settings.servers.urls));
            let exchange = Exchange::new(Arc::new(settings));
            let mut engine = served(exchange, servers, 2, Arc::default()).unwrap();
            let (samples, replies) = samples(2);
            engine.begin(samples).unwrap();
            wait_until(|| server.requests.lock().len() == 2).await;
            let before = Instant::now();
            let mut kept = (Some(replies), Some(engine));
            match way {
                0 => drop(kept.0.take()),
                1 => drop(kept.1.take()),
                _ => kept.1.iter_mut().for_each(|engine| engine.drop_all()),
            }
            wait_until(|| server.left.load(Ordering::SeqCst) == 2).await;
            assert!(before.elapsed() < Duration::from_secs(1), "{way}");
            if let Some(engine) = &kept.1 {
                wait_until(|| engine.under_way() == 0).await;
            }
            if let (1.., Some(replies)) = (way, &mut kept.0) {
                let reply = next(replies).await;
                assert_eq!(reply.status(), Status::EngineFailed, "{}", reply.error);
            }
        }
    }
}

#[tokio::test]
async fn samples_go_to_the_server_with_the_fewest() {
    let servers = [Fake::always(vec![Act::Hang]), Fake::always(vec![Act::Hang])];
    let mut engine = engine(&[&servers[0].url, &servers[1].url], 4);
    let (samples, _replies) = samples(4);
    engine.begin(samples).unwrap();
    let seen = || servers.each_ref().map(|server| server.requests.lock().len());
    wait_until(|| seen() == [2, 2]).await;
}

pub(super) async fn wait_until(is_so: impl Fn() -> bool) {
    let before = Instant::now();
    while !is_so() {
        assert!(before.elapsed() < Duration::from_secs(10), "it never came to that");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
