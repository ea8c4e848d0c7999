//! An engine instance that answers samples, driven like by its task in a node. Retries and the choice
//! of a server are tested with the engine `openai`.

use std::{sync::Arc, time::Duration};

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
        testing::{expect_answers, none_is_under_way, samples, wait_until, within_a_second},
    },
};

fn engine(server: &Fake, most: usize) -> Tasks<KserveExchange> {
    let settings = &server.settings;
    let [inputs, outputs] = tensors();
    let plan = TokenPlan::new(Arc::new(tiny(3, &[])), &inputs, &outputs).unwrap();
    let plan = Arc::new(Plan::Tokens(plan));
    Tasks::new("kserve", most, || KserveExchange {
        plan,
        servers: Servers::new(&settings.urls).with(|url| Caller::new(url, settings)),
        timeout: Duration::from_secs(60),
    })
    .unwrap()
}

#[tokio::test]
async fn samples_are_answered_each_by_itself() {
    let server = Fake::start(|_, request| {
        let id = &request.id;
        [tokens(id, &[7, 8]), tokens(id, &[9]), end(id)].map(Act::Send).into()
    });
    let mut engine = engine(&server, 3);
    let (samples, mut replies) = samples(3);
    engine.begin(samples).unwrap();
    expect_answers(3, &mut replies).await;
    none_is_under_way(&mut engine).await;
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
            let mut engine = engine(&server, 2);
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
