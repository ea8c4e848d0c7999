//! Calls to a node other than the streams of samples: their time limits, and the causes of their
//! failures.

use std::{future::Future, pin::pin, time::Duration};

use netdiv_contract::{
    tally::Tally,
    v1::{self, DigestsRequest},
};
use netdiv_node_common::sanitise::sanitise;
use netdiv_transport::Connection;

/// Returns false if a node does not implement digests, because it was built from an older version
/// of the wire contract.
pub(crate) async fn supports_digests(connection: &Connection, limit: Duration) -> bool {
    let answer = within(limit, connection.digests(DigestsRequest::default())).await;
    !answer.is_err_and(|status| status.code() == tonic::Code::Unimplemented)
}

/// Fetches a tally of a session, which counts the digests of its samples or responses. The node
/// sends it in parts, and `limit` applies to each part.
pub(crate) async fn tally(
    connection: &Connection,
    session: &str,
    tally: v1::Tally,
    limit: Duration,
) -> Result<Tally, tonic::Status> {
    let mut all = Tally::default();
    loop {
        let request = DigestsRequest {
            session: session.into(),
            tally: tally as i32,
            skip: all.distinct() as u64,
        };
        let part = within(limit, connection.digests(request)).await?;
        let before = all.distinct();
        all.add_entries(&part.entries).map_err(tonic::Status::data_loss)?;
        if all.distinct() as u64 >= part.total {
            return Ok(all);
        }
        if all.distinct() == before {
            return Err(tonic::Status::data_loss("a part of the tally contains nothing new"));
        }
    }
}

/// Awaits a call for at most `limit`.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, tonic::Status>>,
) -> Result<T, tonic::Status> {
    unless_idle(limit, call, || false).await
}

/// Like [`within`], but the limit starts anew while `is_busy` returns true: on a slow link the call
/// queues behind samples.
pub(crate) async fn unless_idle<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, tonic::Status>>,
    is_busy: impl Fn() -> bool,
) -> Result<T, tonic::Status> {
    let mut call = pin!(call);
    let mut was_busy = is_busy();
    loop {
        match tokio::time::timeout(limit, &mut call).await {
            Ok(answer) => return answer,
            Err(_) if was_busy || is_busy() => was_busy = is_busy(),
            Err(_) => {
                let text = format!(
                    "no answer within {} s; --control-timeout sets how long to wait",
                    limit.as_secs_f64()
                );
                return Err(tonic::Status::deadline_exceeded(text));
            }
        }
    }
}

/// Returns true if a call failed because the node is gone or silent, and false if one end rejected
/// the call or its data.
pub(crate) fn is_gone(status: &tonic::Status) -> bool {
    use tonic::Code;
    !matches!(
        status.code(),
        // The codes of a `FramingError`, of a node's rejection of an invalid call, and of damaged
        // data.
        Code::InvalidArgument
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::FailedPrecondition
            | Code::DataLoss
    )
}

/// Returns the cause of a failed call in one line: the root cause, if the transport reports one,
/// otherwise the message of the status. The text may come from the node, so it is escaped.
pub(crate) fn error_text(status: &tonic::Status) -> String {
    let mut cause = std::error::Error::source(status);
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    match cause {
        Some(cause) => sanitise(&cause.to_string()),
        None if status.message().is_empty() => status.code().to_string(),
        None => sanitise(status.message()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(200);

    /// Waits for a call that is answered after `answered`, to a node that is busy for `busy`.
    /// Returns the time that the wait took.
    fn wait(answered: Duration, busy: Duration) -> Result<Duration, Duration> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let begin = Instant::now();
        let call = async {
            tokio::time::sleep(answered).await;
            Ok(())
        };
        let waits = async { unless_idle(LIMIT, call, || begin.elapsed() < busy).await };
        let answer = runtime.expect("a runtime").block_on(waits);
        answer.map(|()| begin.elapsed()).map_err(|_| begin.elapsed())
    }

    #[test]
    fn a_call_has_its_whole_time_after_the_node_was_busy() {
        // The node is busy until shortly before the limit.
        assert!(wait(LIMIT * 3 / 2, LIMIT * 3 / 4).is_ok());
        assert!(wait(LIMIT * 7 / 2, LIMIT * 3).is_ok());
        let waited = wait(LIMIT * 20, LIMIT * 5 / 2).expect_err("no answer comes in time");
        assert!(waited >= LIMIT * 7 / 2, "{waited:?}");
        assert!(wait(LIMIT * 20, Duration::ZERO).is_err());
    }
}
