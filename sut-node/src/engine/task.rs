//! A task that owns an engine that computes nothing. No thread has to wake up for a sample or a due
//! token.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    batching::queue::BatchQueue,
    engine::{interface::WaitingEngine, streaming::StreamingWork, work::EngineWork as _},
    sample::queued_sample::QueuedSample,
};

/// Maximum number of polls in one turn. Usually the second poll finds no work, so that the task
/// need not wake itself. Waking itself would also wake another thread of its runtime in vain.
const MOST_LOOKS: usize = 2;

/// Lets the engine work until the queue is closed and all samples are answered.
pub(crate) async fn serve(
    mut engine: StreamingWork<dyn WaitingEngine>,
    queue: Arc<BatchQueue<QueuedSample>>,
) {
    poll_fn(|context| poll(&mut engine, &queue, context)).await;
}

fn poll(
    engine: &mut StreamingWork<dyn WaitingEngine>,
    queue: &BatchQueue<QueuedSample>,
    context: &mut Context<'_>,
) -> Poll<()> {
    for _ in 0..MOST_LOOKS {
        let is_due = engine.poll_due(context).is_ready();
        if is_due {
            engine.step();
        }
        let room = engine.room();
        let next = if room > 0 { queue.poll_next_batch(context, room) } else { Poll::Pending };
        match next {
            Poll::Ready(Some(batch)) => engine.begin(batch),
            Poll::Ready(None) if engine.is_idle() => return Poll::Ready(()),
            Poll::Ready(None) | Poll::Pending if !is_due => return Poll::Pending,
            Poll::Ready(None) | Poll::Pending => {}
        }
    }
    // There may be more work, but other tasks need a turn, too.
    context.waker().wake_by_ref();
    Poll::Pending
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use netdiv_contract::{
        encoding::Encoding,
        v1::{Status, Tokens as Wanted},
    };
    use tokio::time::timeout;

    use super::*;
    use crate::{
        batching::batcher::BatchLimits,
        engine::{
            remote::testing::{client, next},
            tokens::{
                settings::{OutputKind, OutputLength, TokensConfig},
                streams::TokensEngine,
            },
        },
        ground::clock::Clock,
    };

    #[tokio::test]
    async fn it_ends_once_all_that_was_queued_is_answered() {
        let queue = Arc::new(BatchQueue::new(BatchLimits::without_waiting(1), Clock::default()));
        let (client, mut replies) = client(Wanted::Whole);
        let sample = |id| QueuedSample::empty(id, client.clone());
        // The engine has room for one sample at a time.
        let (ttft, tpot) = (Duration::from_millis(5), Duration::from_millis(1));
        let kind = OutputKind { ttft, tpot, tokens: OutputLength { min: 3, max: 3 } };
        let settings = TokensConfig { outputs: vec![kind], vocabulary: 100 };
        let engine: Box<dyn WaitingEngine> =
            Box::new(TokensEngine::new(Arc::new(settings), 1).unwrap());
        let engine = StreamingWork::new(engine, Encoding::None, Arc::default(), queue.clock());
        let serving = tokio::spawn(serve(engine, queue.clone()));
        queue.push(&mut (0..3).map(sample).collect());
        tokio::task::yield_now().await;
        queue.close();
        for id in 0..3 {
            let reply = next(&mut replies).await;
            assert_eq!((reply.id, reply.status(), reply.token_count), (id, Status::Ok, 3));
        }
        timeout(Duration::from_secs(30), serving).await.expect("it ends").unwrap();
    }
}
