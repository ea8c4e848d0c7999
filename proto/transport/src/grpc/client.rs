//! Client's end of a gRPC connection.

use std::{
    error::Error,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_core::Stream;
use http::{
    Extensions, HeaderMap, Method, Request, Response, StatusCode, Uri, header,
    uri::{InvalidUri, PathAndQuery},
};
use hyper::{
    body::Incoming,
    client::conn::http2::{Builder, SendRequest},
    rt::Executor as _,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use netdiv_contract::{
    CHECKSUMS_HEADER, DIGESTS_HEADER, MAX_OUTPUT_TOKENS_HEADER, SESSION_HEADER, SessionHeader,
    TOKENS_HEADER, limits, tokens,
    v1::{
        DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse, FlushRequest,
        FlushResponse, MeasureRequest, MeasureResponse, sut_node_client::SutNodeClient,
    },
};
use tokio::{
    net::{TcpSocket, TcpStream},
    runtime::Handle,
    time::{Instant, timeout_at},
};
use tonic::{Status, body::Body, metadata::MetadataMap};
use tower::{Service, service_fn};

use super::{
    body::{BodyChunks, RequestBody, status},
    connection_end::{ConnectionEnd, Http2Close},
    service::{INFER, is_grpc},
    wire::Wire,
};
use crate::{
    address::Address,
    inline_poll::Spawner,
    open_error::{OpenError, TLS_REMEDY},
    options::Options,
    security::Token,
};

/// HTTP/2 connection to a node. It never reconnects: a lost node stays lost.
#[derive(Debug, Clone)]
pub(crate) struct GrpcClient {
    send: SendRequest<Body>,
    /// Scheme and authority of the calls.
    origin: Uri,
    token: Option<Token>,
    end: ConnectionEnd,
    has_tls: bool,
    /// Set once the node has answered a call of `Describe`.
    answered: Arc<AtomicBool>,
}

impl GrpcClient {
    /// Resolves the host, and opens a connection to the first of its addresses that answers. Makes
    /// a single attempt for each address, and each attempt may take the whole connect timeout.
    pub(crate) async fn open(address: &Address, options: &Options) -> Result<Self, OpenError> {
        Self::open_first(address.look_up(options.connect_timeout).await?, address, options).await
    }

    async fn open_first(
        peers: Vec<SocketAddr>,
        address: &Address,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let mut last = unreachable(address, "the name has no address");
        for peer in peers {
            match Self::open_at(peer, address, options).await {
                Err(error @ OpenError::Unreachable { .. }) => last = error,
                outcome => return outcome,
            }
        }
        Err(last)
    }

    async fn open_at(
        peer: SocketAddr,
        address: &Address,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let deadline = Instant::now() + options.connect_timeout;
        let dialled = timeout_at(deadline, dial(peer, address, options)).await;
        let stream = dialled.map_err(|_| unreachable(address, options.egress.no_answer()))??;
        let origin = origin(address, options)?;
        let spawner = Spawner(Handle::current());
        let opening = timeout_at(deadline, async {
            let wire = wire(stream, address, options).await?;
            let broken = wire.error.clone();
            let opened =
                http2(spawner.clone(), options).handshake::<_, Body>(TokioIo::new(wire)).await;
            let opened = opened.map(|opened| (opened, broken));
            opened.map_err(|error| unreachable(address, chain(&error)))
        });
        let silent = |_| unreachable(address, "it accepts the connection but sends nothing");
        let ((send, connection), broken) = opening.await.map_err(silent)??;
        let (end, run) = ConnectionEnd::of(connection, broken);
        spawner.execute(run);
        let (token, has_tls) = (options.token.clone(), options.tls.is_some());
        Ok(Self { send, origin, token, end, has_tls, answered: Arc::default() })
    }

    pub(crate) async fn describe(
        &self,
        request: DescribeRequest,
    ) -> Result<DescribeResponse, Status> {
        let answer = self.calls().describe(self.request(request)).await;
        self.answered.fetch_or(answer.is_ok(), Ordering::Relaxed);
        self.message(answer).await
    }

    pub(crate) async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        self.message(self.calls().flush(self.request(request)).await).await
    }

    pub(crate) async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, Status> {
        self.message(self.calls().digests(self.request(request)).await).await
    }

    pub(crate) async fn measure(&self, request: MeasureRequest) -> Result<MeasureResponse, Status> {
        self.message(self.calls().measure(self.request(request)).await).await
    }

    async fn message<T>(&self, answer: Result<tonic::Response<T>, Status>) -> Result<T, Status> {
        match answer {
            Ok(answer) => Ok(answer.into_inner()),
            Err(status) => Err(self.cause(status).await),
        }
    }

    /// Returns the status of a failed call. If the connection broke, the status contains the error
    /// that broke it.
    async fn cause(&self, status: Status) -> Status {
        if status.source().is_none() {
            return status;
        }
        let status = self.end.clone().explain(status).await;
        let speaks_http2 =
            self.answered.load(Ordering::Relaxed) || Http2Close::of(&status).is_some();
        if self.has_tls || speaks_http2 {
            return status;
        }
        // A node with TLS closes a connection that begins in plaintext.
        let cause = chain(&status).replace(&status.to_string(), status.message());
        Status::new(status.code(), format!("{cause}; if the node uses TLS, give --tls-ca"))
    }

    fn calls(
        &self,
    ) -> SutNodeClient<
        impl Service<Request<Body>, Response = Response<Incoming>, Error = hyper::Error, Future: Send>
        + Send,
    > {
        let mut send = self.send.clone();
        let service = service_fn(move |request: Request<Body>| send.send_request(request));
        SutNodeClient::with_origin(service, self.origin.clone())
            .max_decoding_message_size(limits::MAX_REPLY_BYTES)
    }

    fn authorize(&self, headers: &mut HeaderMap) {
        if let Some(token) = &self.token {
            headers.insert(header::AUTHORIZATION, token.header());
        }
    }

    fn request<T>(&self, message: T) -> tonic::Request<T> {
        let mut headers = HeaderMap::new();
        self.authorize(&mut headers);
        tonic::Request::from_parts(MetadataMap::from_headers(headers), Extensions::new(), message)
    }

    /// Opens a stream of requests. Samples are sent before the node has sent its response headers.
    pub(crate) async fn infer(
        &self,
        session: &SessionHeader,
        requests: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    ) -> Result<BodyChunks, Status> {
        let mut request = Request::new(Body::new(RequestBody(requests)));
        *request.method_mut() = Method::POST;
        let mut uri = self.origin.clone().into_parts();
        uri.path_and_query = Some(PathAndQuery::from_static(INFER));
        let uri = Uri::from_parts(uri);
        *request.uri_mut() = uri.map_err(|error| Status::internal(error.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(header::TE, header::HeaderValue::from_static("trailers"));
        let content_type = header::HeaderValue::from_static("application/grpc");
        headers.insert(header::CONTENT_TYPE, content_type);
        let name = session.name.parse();
        let name = name.map_err(|_| Status::internal("a session must be plain text"))?;
        headers.insert(SESSION_HEADER, name);
        for (name, wanted) in
            [(DIGESTS_HEADER, session.digests), (CHECKSUMS_HEADER, session.checksums)]
        {
            if wanted {
                headers.insert(name, header::HeaderValue::from_static("1"));
            }
        }
        if let Some(word) = tokens::header_value(session.tokens) {
            headers.insert(TOKENS_HEADER, header::HeaderValue::from_static(word));
        }
        if session.max_output_tokens > 0 {
            headers.insert(MAX_OUTPUT_TOKENS_HEADER, session.max_output_tokens.into());
        }
        self.authorize(headers);
        let (head, body) = match self.send.clone().send_request(request).await {
            Ok(response) => response.into_parts(),
            Err(error) => return Err(self.cause(Status::from_error(error.into())).await),
        };
        if head.status != StatusCode::OK || !is_grpc(&head.headers) {
            let text = format!("it answers like a web server, with {}", head.status);
            return Err(Status::unknown(text));
        }
        // A node that refuses the call at once sends the status in these headers.
        status(head.headers)?;
        Ok(BodyChunks::new(Body::new(body), Some(self.end.clone())))
    }
}

fn unreachable(address: &Address, why: impl ToString) -> OpenError {
    OpenError::Unreachable { address: address.to_string(), why: why.to_string() }
}

/// Opens a TCP connection to `peer` with the egress options; errors name `address`.
async fn dial(
    peer: SocketAddr,
    address: &Address,
    options: &Options,
) -> Result<TcpStream, OpenError> {
    // This machine may have no IPv6.
    let socket = if peer.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let failed = |error| OpenError::of_socket(address, &error);
    let socket = socket.map_err(failed)?;
    options.egress.apply(&socket, &peer).map_err(OpenError::Local)?;
    let stream = socket.connect(peer).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(|error| unreachable(address, error))?;
    Ok(stream)
}

/// Returns the client's end of the connection, after the TLS handshake if TLS is enabled.
async fn wire(stream: TcpStream, address: &Address, options: &Options) -> Result<Wire, OpenError> {
    match &options.tls {
        None => Ok(Wire::plain(stream)),
        Some(tls) => {
            let agreed = Wire::client(stream, tls, address.certified_host()).await;
            agreed.map_err(|error| {
                let hint = match error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()) {
                    Some(rustls::Error::InvalidMessage(_)) => "; does the node use TLS?",
                    Some(_) => TLS_REMEDY,
                    // The node may be restarting.
                    None => return unreachable(address, error),
                };
                let why = format!("{error}{hint}");
                OpenError::Untrusted { address: address.to_string(), why }
            })
        }
    }
}

/// Returns the URI of a node. Its scheme becomes the pseudo-header `:scheme`.
fn origin(address: &Address, options: &Options) -> Result<Uri, OpenError> {
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let uri = format!("{scheme}://{}", address.authority()).parse();
    uri.map_err(|error: InvalidUri| OpenError::BadAddress {
        address: address.to_string(),
        why: error.to_string(),
    })
}

fn http2(spawner: Spawner, options: &Options) -> Builder<Spawner> {
    let mut builder = Builder::new(spawner);
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(options.keepalive_interval)
        .keep_alive_timeout(options.keepalive_timeout)
        .keep_alive_while_idle(true)
        .max_frame_size(limits::MAX_FRAME_BYTES)
        .initial_stream_window_size(options.window_bytes)
        .initial_connection_window_size(limits::connection_window_bytes(options.window_bytes));
    builder
}

/// Returns the text of an error and its causes, without repeating a cause.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let deeper = error.to_string();
        if !text.contains(&deeper) {
            text = format!("{text}: {deeper}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    use super::*;

    /// Listens with a full queue, so that the system does not answer another connection.
    async fn listen_without_answers() -> (TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(0).unwrap();
        let peer = listener.local_addr().unwrap();
        let mut queue = Vec::new();
        while let Ok(stream) =
            tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(peer)).await
        {
            queue.push(stream.unwrap());
        }
        (listener, queue)
    }

    #[tokio::test]
    async fn each_address_of_a_name_has_the_whole_connect_timeout() {
        let silent = [listen_without_answers().await, listen_without_answers().await];
        let peers = silent.iter().map(|(listener, _)| listener.local_addr().unwrap()).collect();
        let connect_timeout = Duration::from_millis(200);
        let options = Options { connect_timeout, ..Options::default() };
        let address = Address::parse("node.lab:1").unwrap();
        let started = Instant::now();
        let error =
            GrpcClient::open_first(peers, &address, &options).await.unwrap_err().to_string();
        assert!(error.contains("node.lab:1"), "{error}");
        assert!(started.elapsed() >= 2 * connect_timeout, "{:?}", started.elapsed());
    }
}
