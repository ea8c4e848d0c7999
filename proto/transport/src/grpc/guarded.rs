//! Guard for another gRPC service on a node's port, such as reflection: its calls are admitted like
//! the calls of the node's own service, because its answers may be long.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tonic::{body::Body, server::NamedService};
use tower::Service;

use super::{
    service::{let_in, refuse},
    wire::Caller,
};
use crate::security::ServerToken;

/// Service that refuses calls without the node's token, if there is a token, and counts the
/// connections of its callers as clients.
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
