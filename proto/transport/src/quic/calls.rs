//! Node's end of one call over QUIC. A call is a bidirectional stream of a connection.

use std::{net::SocketAddr, time::Duration};

use netdiv_contract::{
    PROTOCOL_VERSION, SessionHeader,
    burst::Messages,
    framing, limits,
    v1::{CallHeader, CallStatus, Tokens},
};
use netdiv_node_common::sanitise::sanitise;
use prost::Message;
use quinn::{RecvStream, SendStream};
use tokio::time::timeout;
use tonic::Status;

use super::{
    chunks::{ReceivedChunks, send_all},
    ending::explain,
};
use crate::{connections::PeerConnection, handler::Handler, security::ServerToken};

/// Maximum time for the caller to send the header of a call, or its only request.
const PATIENCE: Duration = Duration::from_secs(10);

const METHODS: [&str; 5] = ["Describe", "Digests", "Flush", "Infer", "Measure"];

/// Answers one call. If it fails, the caller has already received the error, which is returned for
/// the log.
pub(super) async fn call<H: Handler>(
    mut send: SendStream,
    receive: RecvStream,
    handler: &H,
    token: Option<&ServerToken>,
    peer: SocketAddr,
    guest: &PeerConnection,
) -> Result<(), Status> {
    let outcome = answer(&mut send, receive, handler, token, peer, guest).await;
    if outcome.is_err() {
        guest.count_refusal();
    }
    let status = outcome.as_ref().err();
    let end = CallStatus {
        code: status.map_or(0, |status| status.code() as i32),
        message: status.map_or_else(String::new, |status| status.message().into()),
    };
    // The caller may be gone.
    if send.write_chunk(framing::encode_end(&end)).await.is_ok() && send.finish().is_ok() {
        let _ = send.stopped().await;
    }
    outcome
}

async fn answer<H: Handler>(
    send: &mut SendStream,
    receive: RecvStream,
    handler: &H,
    token: Option<&ServerToken>,
    peer: SocketAddr,
    guest: &PeerConnection,
) -> Result<(), Status> {
    let mut requests = Messages::new(ReceivedChunks::new(receive), limits::MAX_HEADER_BYTES);
    let header: CallHeader = timeout(PATIENCE, requests.next_message())
        .await
        .map_err(|_| Status::deadline_exceeded("the call sent no header in time"))??
        .ok_or_else(|| Status::invalid_argument("a call begins with a CallHeader"))?;
    if let Some(token) = token {
        guest.check_token(token, &header.token)?;
    }
    if header.protocol_version != PROTOCOL_VERSION {
        let theirs = header.protocol_version;
        let text = format!("version {theirs} of the wire contract; expected {PROTOCOL_VERSION}");
        return Err(Status::failed_precondition(text));
    }
    if !METHODS.contains(&header.method.as_str()) {
        let text = format!("no method `{}`", sanitise(&header.method));
        return Err(Status::unimplemented(text));
    }
    guest.admit()?;
    match header.method.as_str() {
        "Describe" => {
            let asked = request(&mut requests).await?;
            reply(send, handler.describe(asked, Some(peer))).await
        }
        "Digests" => reply(send, handler.digests(request(&mut requests).await?)).await,
        "Flush" => reply(send, handler.flush(request(&mut requests).await?)).await,
        "Measure" => reply(send, handler.measure(request(&mut requests).await?)).await,
        _ => {
            let _place = guest.stream()?;
            requests.set_longest(handler.longest_request());
            let tokens = Tokens::try_from(header.tokens).map_err(|unknown| {
                Status::invalid_argument(format!("unknown value of `tokens`: {unknown}"))
            })?;
            let CallHeader { session: name, digests, checksums, max_output_tokens, .. } = header;
            let session = SessionHeader { name, digests, checksums, tokens, max_output_tokens };
            let replies = handler.infer(&session, requests)?;
            // A failed write means that the caller is gone. The reader of the requests detects this
            // too, so it is no error here.
            send_all(send, replies).await.unwrap_or(Ok(()))
        }
    }
}

/// Reads the request of a call that has a single request.
async fn request<M: Message + Default>(
    requests: &mut Messages<ReceivedChunks>,
) -> Result<M, Status> {
    let request = timeout(PATIENCE, requests.next_message()).await;
    let request = request.map_err(|_| Status::deadline_exceeded("no request in time"))??;
    request.ok_or_else(|| Status::invalid_argument("the request is missing"))
}

/// Awaits `making`, and sends its reply as the only reply of a call. Fails if the caller leaves
/// before the reply is ready.
async fn reply<M: Message>(
    send: &mut SendStream,
    making: impl Future<Output = Result<M, Status>>,
) -> Result<(), Status> {
    let stopped = send.stopped();
    let message = tokio::select! {
        message = making => message?,
        _ = stopped => return Err(Status::cancelled("the caller is gone")),
    };
    let sent = send.write_chunk(framing::encode(&message)).await;
    sent.map_err(|error| Status::unavailable(explain(&error)))
}
