//! Node's end of gRPC: the service `netdiv.v1.SutNode`, and the guard of others on its port.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderMap, Request, Response, header};
use netdiv_contract::{
    CHECKSUMS_HEADER, DIGESTS_HEADER, MAX_OUTPUT_TOKENS_HEADER, SESSION_HEADER, SessionHeader,
    TOKENS_HEADER, burst::Messages, limits::MAX_HEADER_BYTES, tokens,
};
use tonic::{
    Status,
    body::Body,
    server::{Grpc, NamedService},
};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};
use tracing::{field::display, warn};

use super::{
    body::{BodyChunks, ReplyBody},
    wire::Caller,
};
use crate::{
    handler::Handler,
    security::{ServerToken, token_in},
};

const DESCRIBE: &str = "/netdiv.v1.SutNode/Describe";
const FLUSH: &str = "/netdiv.v1.SutNode/Flush";
const DIGESTS: &str = "/netdiv.v1.SutNode/Digests";
const MEASURE: &str = "/netdiv.v1.SutNode/Measure";
pub(super) const INFER: &str = "/netdiv.v1.SutNode/Infer";

/// Service `netdiv.v1.SutNode` for tonic's server. It passes admitted calls to a [`Handler`].
#[derive(Debug, Clone)]
pub struct SutNodeService<H> {
    handler: H,
    token: Option<Arc<ServerToken>>,
}

impl<H> SutNodeService<H> {
    /// Creates the service. If there is a token, calls without it are refused.
    pub fn new(handler: H, token: Option<Arc<ServerToken>>) -> Self {
        Self { handler, token }
    }
}

impl<H> NamedService for SutNodeService<H> {
    const NAME: &'static str = "netdiv.v1.SutNode";
}

impl<H: Handler> Service<Request<Body>> for SutNodeService<H> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let handler = self.handler.clone();
        // Set by `Wire`.
        let caller = request.extensions().get::<Caller>().cloned().unwrap_or_default();
        if let Err(refusal) = self.admit(&request, &caller) {
            return Box::pin(async move { Ok(refuse(&caller, refusal)) });
        }
        match request.uri().path() {
            DESCRIBE => Box::pin(unary(handler, request, move |handler, asked| async move {
                handler.describe(asked, caller.address).await
            })),
            FLUSH => Box::pin(unary(handler, request, |handler, asked| async move {
                handler.flush(asked).await
            })),
            DIGESTS => Box::pin(unary(handler, request, |handler, asked| async move {
                handler.digests(asked).await
            })),
            MEASURE => Box::pin(unary(handler, request, |handler, asked| async move {
                handler.measure(asked).await
            })),
            INFER => {
                let answer = infer(&handler, request, &caller).unwrap_or_else(Status::into_http);
                Box::pin(async { Ok(answer) })
            }
            _ => Box::pin(async { Ok(no_such_method().into_http()) }),
        }
    }
}

impl<H> SutNodeService<H> {
    /// Admits a call and its connection. Fails if the call is refused; the error is the answer to
    /// the call. A call of an unknown method does not admit its connection.
    fn admit(&self, request: &Request<Body>, caller: &Caller) -> Result<(), Status> {
        if ![DESCRIBE, FLUSH, DIGESTS, MEASURE, INFER].contains(&request.uri().path()) {
            check_token(self.token.as_deref(), request, caller)?;
            return Err(no_such_method());
        }
        let_in(self.token.as_deref(), request, caller)
    }
}

/// Admits a call and its connection. Fails if the node requires a token and the call does not have
/// it, or if its connection cannot become a client.
fn let_in(
    token: Option<&ServerToken>,
    request: &Request<Body>,
    caller: &Caller,
) -> Result<(), Status> {
    check_token(token, request, caller)?;
    caller.guest.as_ref().map_or(Ok(()), |guest| guest.admit())
}

/// Counts and logs a call that is not admitted, and returns the answer to it.
fn refuse(caller: &Caller, refusal: Status) -> Response<Body> {
    if let Some(guest) = &caller.guest {
        guest.count_refusal();
    }
    let (peer, why) = (caller.address.map(display), refusal.message());
    warn!(peer, why, "a call was refused");
    refusal.into_http()
}

fn check_token(
    token: Option<&ServerToken>,
    request: &Request<Body>,
    caller: &Caller,
) -> Result<(), Status> {
    let Some(token) = token else { return Ok(()) };
    let shown = token_in(request.headers());
    match &caller.guest {
        Some(guest) => guest.check_token(token, shown),
        None => token.check(shown).map(drop),
    }
}

fn no_such_method() -> Status {
    Status::unimplemented("no such method")
}

type Answer<T> = Pin<Box<dyn Future<Output = Result<tonic::Response<T>, Status>> + Send>>;

/// Answers a call that has one request and one reply. The length of its request is limited, so that
/// many incomplete requests cannot fill the memory.
async fn unary<H: Handler, Asked, Reply, F>(
    handler: H,
    request: Request<Body>,
    answer: impl Fn(H, Asked) -> F,
) -> Result<Response<Body>, Infallible>
where
    Asked: prost::Message + Default + Send + 'static,
    Reply: prost::Message + Send + 'static,
    F: Future<Output = Result<Reply, Status>> + Send + 'static,
{
    let service = service_fn(move |request: tonic::Request<Asked>| -> Answer<Reply> {
        let reply = answer(handler.clone(), request.into_inner());
        Box::pin(async move { reply.await.map(tonic::Response::new) })
    });
    let codec = ProstCodec::<Reply, Asked>::default();
    let mut grpc = Grpc::new(codec).max_decoding_message_size(MAX_HEADER_BYTES);
    Ok(grpc.unary(service, request).await)
}

fn infer<H: Handler>(
    handler: &H,
    request: Request<Body>,
    caller: &Caller,
) -> Result<Response<Body>, Status> {
    let place = caller.guest.as_ref().map(|guest| guest.stream()).transpose()?;
    let (head, body) = request.into_parts();
    let name = match head.headers.get(SESSION_HEADER).map(|name| name.to_str()) {
        None => "",
        Some(Ok(name)) => name,
        Some(Err(_)) => return Err(Status::invalid_argument("a session must be plain text")),
    };
    let wanted = |header| head.headers.get(header).is_some_and(|value| value == "1");
    let (digests, checksums) = (wanted(DIGESTS_HEADER), wanted(CHECKSUMS_HEADER));
    let word = head.headers.get(TOKENS_HEADER).map(|value| value.as_bytes());
    let tokens = tokens::from_header_value(word).ok_or_else(|| {
        Status::invalid_argument("the header netdiv-tokens must be `first`, `every` or absent")
    })?;
    let most = head.headers.get(MAX_OUTPUT_TOKENS_HEADER).map(|value| value.to_str());
    let most = most.map(|text| text.ok().and_then(|text| text.parse().ok()));
    let max_output_tokens = most.unwrap_or(Some(0)).ok_or_else(|| {
        Status::invalid_argument("the header netdiv-max-output-tokens must be a number of tokens")
    })?;
    let name = name.into();
    let session = SessionHeader { name, digests, checksums, tokens, max_output_tokens };
    let requests = Messages::new(BodyChunks::new(body, None), handler.longest_request());
    let replies = handler.infer(&session, requests)?;
    let mut response = Response::new(Body::new(ReplyBody::new(replies, place)));
    let content_type = header::HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    Ok(response)
}

/// Returns true if the content type in these headers is gRPC: `application/grpc`, possibly with a
/// message format such as `+proto`. Media types are case-insensitive and may have parameters.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = content_type.and_then(|value| value.split([';', '+']).next());
    media_type.is_some_and(|name| name.trim().eq_ignore_ascii_case("application/grpc"))
}

/// Guard for another gRPC service on a node's port, such as reflection: refuses calls without the
/// node's token, if there is a token, and counts the connections of its callers as clients, because
/// its answers may be long.
#[derive(Debug, Clone)]
pub struct Guarded<S> {
    service: S,
    token: Option<Arc<ServerToken>>,
}

impl<S> Guarded<S> {
    /// Guards a service. If there is a token, calls without it are refused.
    pub fn new(service: S, token: Option<Arc<ServerToken>>) -> Self {
        Self { service, token }
    }
}

impl<S: NamedService> NamedService for Guarded<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let caller = request.extensions().get::<Caller>().cloned().unwrap_or_default();
        if let Err(refusal) = let_in(self.token.as_deref(), &request, &caller) {
            return Box::pin(async move { Ok(refuse(&caller, refusal)) });
        }
        Box::pin(self.service.call(request))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn media_types_of_grpc_have_no_case_and_may_have_parameters() {
        let is_grpc = |value: &'static str| {
            is_grpc(
                &[(header::CONTENT_TYPE, HeaderValue::from_static(value))].into_iter().collect(),
            )
        };
        for value in [
            "application/grpc",
            "Application/GRPC",
            "application/grpc+proto",
            "application/grpc;charset=utf-8",
            "application/grpc ; charset=utf-8",
            "application/grpc+proto; x=y",
        ] {
            assert!(is_grpc(value), "{value}");
        }
        for value in ["", "text/html", "application/grpc-web", "application/grpc-web+proto"] {
            assert!(!is_grpc(value), "{value}");
        }
    }
}
