//! Calls to a node beside the streams of samples: how long they may take, and why they fail.

use std::{future::Future, pin::pin, time::Duration};

use netdiv_contract::{
    said::said,
    tally::Tally,
    v1::{self, DigestsRequest},
};
use netdiv_transport::Connection;

/// Whether a node knows what digests are; servers that were made from an older contract do not.
pub(crate) async fn knows_digests(connection: &Connection, limit: Duration) -> bool {
    let answer = within(limit, connection.digests(DigestsRequest::default())).await;
    !answer.is_err_and(|status| status.code() == tonic::Code::Unimplemented)
}

/// One of a session's tallies, part by part; each has that long.
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
            return Err(tonic::Status::data_loss("a part of the tally has nothing new"));
        }
    }
}

/// Awaits a call for a limited time.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, tonic::Status>>,
) -> Result<T, tonic::Status> {
    unless_idle(limit, call, || false).await
}

/// The same, and as much time again as long as the node is busy with other things: on a slow link a call waits behind them.
pub(crate) async fn unless_idle<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, tonic::Status>>,
    is_busy: impl Fn() -> bool,
) -> Result<T, tonic::Status> {
    let mut call = pin!(call);
    loop {
        match tokio::time::timeout(limit, &mut call).await {
            Ok(answer) => return answer,
            Err(_) if is_busy() => {}
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

/// Whether a call failed because the node is gone, or not heard of: not because of what one end said.
pub(crate) fn is_gone(status: &tonic::Status) -> bool {
    use tonic::Code;
    !matches!(
        status.code(),
        // What `FramingError` becomes, what a node says of a call that makes no sense, and damage.
        Code::InvalidArgument
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::FailedPrecondition
            | Code::DataLoss
    )
}

/// Why a call failed, in one line: the first cause where the transport names one. A node can have written any of it.
pub(crate) fn words(status: &tonic::Status) -> String {
    let mut cause = std::error::Error::source(status);
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    match cause {
        Some(cause) => said(&cause.to_string()),
        None if status.message().is_empty() => status.code().to_string(),
        None => said(status.message()),
    }
}
