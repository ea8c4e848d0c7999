//! Client's end of a gRPC connection.

use std::{
    error::Error,
    future::{poll_fn, ready},
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_core::Stream;
use http::{Extensions, HeaderMap, Method, Request, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use netdiv_contract::{
    CHECKSUMS_HEADER, DIGESTS_HEADER, SESSION_HEADER, SessionHeader, TOKENS_HEADER, limits, tokens,
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
use tonic::{
    Status,
    body::Body,
    metadata::MetadataMap,
    transport::{Channel, Endpoint},
};
use tower::{Service, service_fn};

use super::{
    body::{BodyChunks, RequestBody, status},
    connection_end::ConnectionEnd,
    http2_close::Http2Close,
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
    channel: Channel,
    token: Option<Token>,
    ending: ConnectionEnd,
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
        let ending = ConnectionEnd::default();
        let opening = timeout_at(deadline, async {
            let wire = wire(stream, address, options, &ending).await?;
            let endpoint = endpoint(address, options)?;
            endpoint.connect_with_connector(only_once(wire)).await.map_err(|error| {
                unreachable(address, ending.error().map_or_else(|| chain(&error), Into::into))
            })
        });
        let silent = |_| unreachable(address, "it accepts the connection but sends nothing");
        let channel = opening.await.map_err(silent)??;
        let (token, has_tls) = (options.token.clone(), options.tls.is_some());
        Ok(Self { channel, token, ending, has_tls, answered: Arc::default() })
    }

    pub(crate) async fn describe(
        &self,
        request: DescribeRequest,
    ) -> Result<DescribeResponse, Status> {
        let answer = self.calls().describe(self.request(request)).await;
        let answer = answer.map(tonic::Response::into_inner);
        self.answered.fetch_or(answer.is_ok(), Ordering::Relaxed);
        answer.map_err(|status| self.cause(status))
    }

    pub(crate) async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        let answer = self.calls().flush(self.request(request)).await;
        answer.map(tonic::Response::into_inner).map_err(|status| self.cause(status))
    }

    pub(crate) async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, Status> {
        let answer = self.calls().digests(self.request(request)).await;
        answer.map(tonic::Response::into_inner).map_err(|status| self.cause(status))
    }

    pub(crate) async fn measure(&self, request: MeasureRequest) -> Result<MeasureResponse, Status> {
        let answer = self.calls().measure(self.request(request)).await;
        answer.map(tonic::Response::into_inner).map_err(|status| self.cause(status))
    }

    /// Returns the status of a failed call. If the connection broke, the status contains the error
    /// that broke it.
    fn cause(&self, status: Status) -> Status {
        if status.source().is_none() {
            return status;
        }
        if let Some(error) = self.ending.error()
            && error.contains("fatal alert")
        {
            // With TLS 1.3, a client may send before the node has checked its certificate.
            return Status::unauthenticated(error);
        }
        let status = self.ending.explain(status);
        let speaks_http2 =
            self.answered.load(Ordering::Relaxed) || Http2Close::of(&status).is_some();
        if self.has_tls || speaks_http2 {
            return status;
        }
        // A node with TLS closes a connection that begins in plaintext.
        let cause = chain(&status).replace(&status.to_string(), status.message());
        Status::new(status.code(), format!("{cause}; if the node uses TLS, give --tls-ca"))
    }

    fn calls(&self) -> SutNodeClient<Channel> {
        SutNodeClient::new(self.channel.clone()).max_decoding_message_size(limits::MAX_REPLY_BYTES)
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
        *request.uri_mut() = Uri::from_static(INFER);
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
        self.authorize(headers);
        let mut channel = self.channel.clone();
        let lost = |error: tonic::transport::Error| self.cause(Status::from_error(error.into()));
        poll_fn(|context| channel.poll_ready(context)).await.map_err(lost)?;
        let response = channel.call(request).await.map_err(lost)?;
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK || !is_grpc(&head.headers) {
            let text = format!("it answers like a web server, with {}", head.status);
            return Err(Status::unknown(text));
        }
        // A node that refuses the call at once sends the status in these headers.
        status(head.headers)?;
        Ok(BodyChunks { body, ending: Some(self.ending.clone()) })
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
async fn wire(
    stream: TcpStream,
    address: &Address,
    options: &Options,
    ending: &ConnectionEnd,
) -> Result<Wire, OpenError> {
    match &options.tls {
        None => Ok(Wire::plain(stream, ending.clone())),
        Some(tls) => {
            let agreed = Wire::client(stream, tls, address.certified_host(), ending.clone()).await;
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

fn endpoint(address: &Address, options: &Options) -> Result<Endpoint, OpenError> {
    let bad = |error: http::uri::InvalidUri| OpenError::BadAddress {
        address: address.to_string(),
        why: error.to_string(),
    };
    let uri =
        |scheme: &str| format!("{scheme}://{}", address.authority()).parse::<Uri>().map_err(bad);
    let connection_window = limits::connection_window_bytes(options.window_bytes);
    Ok(Endpoint::from(uri("http")?)
        .executor(Spawner(Handle::current()))
        // This URI becomes the pseudo-header `:scheme`.
        .origin(uri(if options.tls.is_some() { "https" } else { "http" })?)
        .http2_keep_alive_interval(options.keepalive_interval)
        .keep_alive_timeout(options.keepalive_timeout)
        .keep_alive_while_idle(true)
        .max_frame_size(limits::MAX_FRAME_BYTES)
        .initial_stream_window_size(options.window_bytes)
        .initial_connection_window_size(connection_window))
}

/// Returns a connector that gives tonic the open connection once, and never another.
fn only_once(
    wire: Wire,
) -> impl Service<Uri, Response = TokioIo<Wire>, Error = io::Error, Future: Send> + Send {
    let mut wire = Some(wire);
    service_fn(move |_: Uri| {
        let wire = wire.take().map(TokioIo::new);
        ready(wire.ok_or_else(|| io::Error::other("the connection was lost")))
    })
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
