//! An engine instance that answers samples, driven like by its task in a node.

use std::{sync::Arc, time::Duration};

use netdiv_contract::v1::Part;
use tonic::Status;

use super::fake::{Act, Fake, end, tensors, tiny, tokens};
use crate::engine::{
    interface::StreamingEngine,
    kserve::{
        caller::Caller,
        exchange::{KserveExchange, Plan},
        tokens::TokenPlan,
    },
    remote::{
        servers::Servers,
        tasks::Tasks,
        testing::{expect_answers, next, none_is_under_way, samples, wait_until, within_a_second},
    },
};

fn engine(servers: &[&Fake], most: usize, timeout: Duration) -> Tasks<KserveExchange> {
    let mut settings = servers[0].settings.clone();
    settings.urls = servers.iter().map(|server| server.settings.urls[0].clone()).collect();
    let [inputs, outputs] = tensors();
    let plan = TokenPlan::new(Arc::new(tiny(3, &[])), &inputs, &outputs).unwrap();
    let plan = Arc::new(Plan::Tokens(plan));
    Tasks::new("kserve", most, || KserveExchange {
        plan,
        servers: Servers::new(&settings.urls).with(|url| Caller::new(url, &settings)),
        timeout,
    })
    .unwrap()
}

const PATIENCE: Duration = Duration::from_secs(60);

fn good(id: &str) -> Vec<Act> {
    [tokens(id, &[7, 8]), tokens(id, &[9]), end(id)].map(Act::Send).into()
}

#[tokio::test]
async fn samples_are_answered_each_by_itself() {
    let server = Fake::start(|_, request| good(&request.id));
    let mut engine = engine(&[&server], 3, PATIENCE);
    let (samples, mut replies) = samples(3);
    engine.begin(samples).unwrap();
    expect_answers(3, &mut replies).await;
    assert_eq!(engine.room(), 0);
    none_is_under_way(&mut engine).await;
    assert_eq!(engine.room(), 3);
}

#[tokio::test]
async fn a_server_with_too_much_to_do_is_asked_again() {
    let busy = |failures: usize| {
        Fake::start(move |number, request| match number {
            number if number < failures => vec![Act::Fail(Status::resource_exhausted("queue"))],
            _ => good(&request.id),
        })
    };
    for (failures, requests, words) in [(3, 4, ""), (4, 4, "queue; tried 4 times")] {
        let server = busy(failures);
        let mut engine = engine(&[&server], 1, PATIENCE);
        let (samples, mut replies) = samples(1);
        engine.begin(samples).unwrap();
        let mut reply = next(&mut replies).await;
        if reply.part() == Part::First {
            reply = next(&mut replies).await;
        }
        assert!(reply.error.contains(words), "{}", reply.error);
        assert_eq!(reply.error.is_empty(), words.is_empty());
        assert_eq!(server.requests(), requests);
        tokio::task::spawn_blocking(|| drop(engine)).await.unwrap();
    }
}

/// Drops the replies or the engine, or lets the engine drop its samples: each of these cancels the
/// requests at the server.
#[tokio::test]
async fn abandoned_requests_are_cancelled() {
    // A server that has not begun its response, one that has, and one that continues it.
    for begun in 0..3 {
        for way in 0..3 {
            let server = Fake::start(move |_, request| {
                let first = Act::Send(tokens(&request.id, &[7]));
                match begun {
                    0 => vec![Act::Hang],
                    1 => vec![first, Act::Hang],
                    _ => vec![first, Act::Repeat(tokens(&request.id, &[]))],
                }
            });
            let mut engine = engine(&[&server], 2, PATIENCE);
            let (samples, replies) = samples(2);
            engine.begin(samples).unwrap();
            wait_until(|| server.requests() == 2).await;
            let mut kept = (Some(replies), Some(engine));
            match way {
                0 => drop(kept.0.take()),
                1 => drop(kept.1.take()),
                _ => kept.1.iter_mut().for_each(|engine| engine.drop_all()),
            }
            within_a_second(|| server.left() == 2).await;
            if let Some(engine) = &mut kept.1 {
                none_is_under_way(engine).await;
            }
        }
    }
}

#[tokio::test]
async fn samples_go_to_the_server_with_the_fewest() {
    let servers = [Fake::start(|_, _| vec![Act::Hang]), Fake::start(|_, _| vec![Act::Hang])];
    let mut engine = engine(&[&servers[0], &servers[1]], 4, PATIENCE);
    let (samples, _replies) = samples(4);
    engine.begin(samples).unwrap();
    wait_until(|| servers.each_ref().map(Fake::requests) == [2, 2]).await;
}
