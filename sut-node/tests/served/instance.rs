//! An engine instance that answers samples, driven like by its task in a node.

use std::{sync::atomic::Ordering, time::Duration};

use netdiv_contract::v1::Status;

use super::fake::{FakeServer, Step, chunk, events, exchange, head, settings};
use crate::engine::{
    interface::StreamingEngine,
    remote::{
        tasks::Tasks,
        testing::{
            expect_answers, next, none_is_under_way, one_is_answered, samples, tiny, wait_until,
            within_a_second,
        },
    },
    served::{exchange::OpenAiExchange, settings::Dialect::Vllm},
};

const ANSWER: [&str; 4] = [
    r#"{"choices":[{"index":0,"token_ids":[7,8]}]}"#,
    r#"{"choices":[{"index":0,"token_ids":[9],"finish_reason":"length"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":3}}"#,
    "[DONE]",
];

fn engine(urls: &[&str], most: usize) -> Tasks<OpenAiExchange> {
    let settings = settings(urls, Vllm, tiny(3, &[]));
    Tasks::new("served", most, || exchange(&settings)).unwrap()
}

#[tokio::test]
async fn samples_are_answered_each_by_itself() {
    let server = FakeServer::always(events(&ANSWER));
    let mut engine = engine(&[&server.url], 3);
    let (samples, mut replies) = samples(3);
    engine.begin(samples).unwrap();
    expect_answers(3, &mut replies).await;
    assert_eq!(engine.room(), 0);
    none_is_under_way(&mut engine).await;
    assert_eq!(engine.room(), 3);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = FakeServer::always(events(&ANSWER));
    let mut engine = engine(&[&server.url], 1);
    for _ in 0..3 {
        one_is_answered(&mut engine).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    drop(engine);
}

#[tokio::test]
async fn each_server_has_its_own_connections() {
    let servers = [FakeServer::always(events(&ANSWER)), FakeServer::always(events(&ANSWER))];
    let mut engine = engine(&[&servers[0].url, &servers[1].url], 2);
    for _ in 0..3 {
        let (samples, mut replies) = samples(2);
        engine.begin(samples).unwrap();
        expect_answers(2, &mut replies).await;
        none_is_under_way(&mut engine).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // If the first of two samples is answered at once, the second may go to the same server.
    let requests = servers.each_ref().map(|server| server.requests().len());
    assert_eq!(requests.iter().sum::<usize>(), 6);
    for server in &servers {
        assert_eq!(server.connections.load(Ordering::SeqCst), 1, "{requests:?}");
    }
    drop(engine);
}

#[tokio::test]
async fn unused_connections_end() {
    let server = FakeServer::always([events(&ANSWER), vec![Step::Hang]].concat());
    let mut engine = engine(&[&server.url], 1);
    one_is_answered(&mut engine).await;
    wait_until(|| server.left.load(Ordering::SeqCst) == 1).await;
    // Connections that are opened after a pause end too.
    one_is_answered(&mut engine).await;
    wait_until(|| server.left.load(Ordering::SeqCst) == 2).await;
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
    drop(engine);
}

#[tokio::test]
async fn a_connection_that_the_server_has_closed_is_not_used_again() {
    let server = FakeServer::always([events(&ANSWER), vec![Step::Close]].concat());
    let mut engine = engine(&[&server.url], 1);
    for _ in 0..3 {
        one_is_answered(&mut engine).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let requests = server.requests().len();
    assert_eq!((requests, server.connections.load(Ordering::SeqCst)), (3, 3));
    drop(engine);
}

#[tokio::test]
async fn a_connection_that_the_server_closes_meanwhile_loses_no_request() {
    let server = FakeServer::start(|number, _| match number {
        1 => vec![Step::Close],
        _ => events(&ANSWER),
    });
    let mut engine = engine(&[&server.url], 1);
    for _ in 0..2 {
        one_is_answered(&mut engine).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.requests().len(), 3);
    drop(engine);
}

/// Drops the replies or the engine, or lets the engine drop its samples: each of these ends the
/// requests at the server within a second.
#[tokio::test]
async fn abandoned_requests_are_cut() {
    for answer in [vec![Step::Hang], vec![head(), chunk(b"data: {\"choices\":[]}\n\n"), Step::Hang]]
    {
        for way in 0..3 {
            let server = FakeServer::always(answer.clone());
            let mut engine = engine(&[&server.url], 2);
            let (samples, replies) = samples(2);
            engine.begin(samples).unwrap();
            wait_until(|| server.requests().len() == 2).await;
            let mut kept = (Some(replies), Some(engine));
            match way {
                0 => drop(kept.0.take()),
                1 => drop(kept.1.take()),
                _ => kept.1.iter_mut().for_each(|engine| engine.drop_all()),
            }
            within_a_second(|| server.left.load(Ordering::SeqCst) == 2).await;
            if let Some(engine) = &mut kept.1 {
                none_is_under_way(engine).await;
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
    let servers = [FakeServer::always(vec![Step::Hang]), FakeServer::always(vec![Step::Hang])];
    let mut engine = engine(&[&servers[0].url, &servers[1].url], 4);
    let (samples, _replies) = samples(4);
    engine.begin(samples).unwrap();
    let seen = || servers.each_ref().map(|server| server.requests().len());
    wait_until(|| seen() == [2, 2]).await;
}
