//! An instance with samples, as the engine's task drives it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use netdiv_contract::v1::Status;

use super::server::{Act, Vllm, end, of, part, sends};
use crate::{
    engine::{
        interface::StreamingEngine as _,
        remote::{
            servers::Servers,
            testing::{
                each_is_answered, next, none_is_under_way, one_is_answered, samples, wait_until,
                within_a_second,
            },
        },
        served::{
            engine::{Served, served},
            exchange::Exchange,
        },
    },
    settings::served::ServedConfig,
};

fn engine(settings: ServedConfig, most: usize) -> Served {
    let servers = Arc::new(Servers::new(&settings.servers.urls));
    served(Exchange::new(Arc::new(settings)), servers, most, Arc::default()).unwrap()
}

fn whole() -> Vec<Act> {
    sends(&[part(&[7, 8]), part(&[9]), end(&[9], "length")])
}

#[tokio::test]
async fn samples_share_a_connection_and_are_answered_each_by_itself() {
    let server = Vllm::always(whole());
    let mut settings = server.settings(3);
    settings.servers.token = Some("Bearer a-secret".parse().unwrap());
    let mut engine = engine(settings, 5);
    let (samples, mut replies) = samples(5);
    engine.begin(samples).unwrap();
    each_is_answered(5, &mut replies).await;
    none_is_under_way(&mut engine).await;
    assert_eq!(server.seen.connections.lock().len(), 1);
    let tokens = server.seen.tokens.lock();
    assert!(tokens.len() == 5 && tokens.iter().all(|token| token == "Bearer a-secret"));
    std::thread::spawn(move || drop(engine)).join().unwrap();
}

#[tokio::test]
async fn a_connection_that_the_server_closes_meanwhile_loses_no_request() {
    let server = Vllm::always(whole());
    let mut engine = engine(server.settings(3), 1);
    for _ in 0..3 {
        one_is_answered(&mut engine).await;
        server.seen.connections.lock().iter().for_each(|connection| connection.abort());
    }
    assert_eq!(server.seen.requests.lock().len(), 3);
    drop(engine);
}

/// Every way out cancels the requests at the server, within a second.
#[tokio::test]
async fn requests_that_nobody_waits_for_are_cancelled() {
    // A server that has begun to answer, and one that has not.
    for answer in [vec![Act::Send(part(&[])), Act::Hang], vec![Act::Hang]] {
        for way in 0..3 {
            let server = Vllm::always(answer.clone());
            let mut settings = server.settings(3);
            settings.servers.timeout = Duration::from_secs(60);
            let mut engine = engine(settings, 2);
            let (samples, replies) = samples(2);
            engine.begin(samples).unwrap();
            wait_until(|| server.seen.requests.lock().len() == 2).await;
            let mut kept = (Some(replies), Some(engine));
            match way {
                0 => drop(kept.0.take()),
                1 => drop(kept.1.take()),
                _ => kept.1.iter_mut().for_each(|engine| engine.drop_all()),
            }
            within_a_second(|| server.seen.left.load(Ordering::SeqCst) == 2).await;
            if let (1.., Some(replies)) = (way, &mut kept.0) {
                let reply = next(replies).await;
                assert_eq!(reply.status(), Status::EngineFailed, "{}", reply.error);
            }
        }
    }
}

#[tokio::test]
async fn samples_go_to_the_server_with_the_fewest() {
    let servers = [Vllm::always(vec![Act::Hang]), Vllm::always(vec![Act::Hang])];
    let mut engine = engine(of(&[&servers[0].url, &servers[1].url], 3), 4);
    let (samples, _replies) = samples(4);
    engine.begin(samples).unwrap();
    let seen = || servers.each_ref().map(|server| server.seen.requests.lock().len());
    wait_until(|| seen() == [2, 2]).await;
}
