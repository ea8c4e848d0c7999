//! An instance with samples, as the engine's thread drives it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_contract::{
    burst::Messages,
    encoding::Encoding,
    layout::{DataType, TensorView, pack},
    tokens as contract_tokens,
    v1::{InferResponse, Part, Status, Tokens as Wanted},
};
use tonic::Status as RpcStatus;

use super::fake::{Act, Fake, end, tensors, tiny, tokens};
use crate::{
    clock::Clock,
    engine::{
        interface::StreamingEngine,
        kserve::{
            caller::Caller,
            exchange::{Exchange, Plan},
            tokens::Tokens,
        },
        remote::{servers::Servers, tasks::Tasks},
        sink::Sink,
    },
    intake::{
        replies::{self, Replies, ReplyTo},
        sessions::Sessions,
    },
    model::{identity::Model, payload::Payload, token_limits::TokenLimits},
    sample::Sample,
};

fn engine(servers: &[&Fake], most: usize, timeout: Duration) -> Tasks<Exchange> {
    let mut settings = servers[0].settings.clone();
    settings.urls = servers.iter().map(|server| server.settings.urls[0].clone()).collect();
    let [inputs, outputs] = tensors();
    let plan = Tokens::new(Arc::new(tiny(3, &[])), &inputs, &outputs).unwrap();
    let plan = Arc::new(Plan::Tokens(plan));
    Tasks::new("kserve", most, || Exchange {
        plan,
        servers: Servers::new(&settings.urls).with(|url| Caller::new(url, &settings)),
        timeout,
    })
    .unwrap()
}

/// Samples with a prompt, and the stream of their replies.
fn samples(count: u64) -> (Vec<(Payload, Sink)>, Messages<Replies>) {
    let session = Sessions::default().join(&Default::default()).unwrap();
    let (sender, replies) =
        replies::channel(&Arc::default(), 10, 10_000, session, false, Wanted::First).unwrap();
    let model = Model::of_tokens("kserve", TokenLimits::default());
    let data = contract_tokens::to_bytes(&[1, 5, 9, 13]);
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

async fn next(replies: &mut Messages<Replies>) -> InferResponse {
    replies.next_message().await.unwrap().unwrap()
}

fn ids(reply: &InferResponse) -> Vec<i32> {
    contract_tokens::ids(&reply.payload).collect()
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
    let (mut firsts, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let reply = next(&mut replies).await;
        assert_eq!(reply.status(), Status::Ok, "{}", reply.error);
        match reply.part() {
            Part::First => {
                assert_eq!(ids(&reply), [7]);
                firsts.push(reply.id);
            }
            _ => {
                assert_eq!((ids(&reply), reply.token_count), (vec![7, 8, 9], 3));
                wholes.push(reply.id);
            }
        }
    }
    firsts.sort_unstable();
    wholes.sort_unstable();
    assert_eq!([firsts, wholes], [[0, 1, 2], [0, 1, 2]]);
    wait_until(|| engine.room() == 3).await;
    tokio::task::spawn_blocking(move || {
        // Nothing is under way: a step waits for a moment, and not for ever.
        engine.step().unwrap();
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_server_with_too_much_to_do_is_asked_again() {
    let busy = |failures: usize| {
        Fake::start(move |number, request| match number {
            number if number < failures => vec![Act::Fail(RpcStatus::resource_exhausted("queue"))],
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

/// Every way out cancels the requests at the server.
#[tokio::test]
async fn requests_that_nobody_waits_for_are_cancelled() {
    // A server that has not begun to answer, one that has, and one that goes on.
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
            wait_until(|| server.left() == 2).await;
            if let Some(engine) = &kept.1 {
                wait_until(|| engine.under_way() == 0).await;
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

async fn wait_until(is_so: impl Fn() -> bool) {
    let before = Instant::now();
    while !is_so() {
        assert!(before.elapsed() < Duration::from_secs(30), "it never came to that");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
