//! The client's end of gRPC.

use std::{future::poll_fn, time::Duration};

use bytes::Bytes;
use futures_core::Stream;
use http::{Extensions, HeaderMap, Method, Request, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use netdiv_proto::{
    SESSION_HEADER, limits,
    v1::{
        DescribeRequest, DescribeResponse, FlushRequest, FlushResponse,
        sut_node_client::SutNodeClient,
    },
};
use tokio::net::TcpStream;
use tonic::{
    Status,
    body::Body,
    metadata::MetadataMap,
    transport::{Channel, Endpoint},
};
use tower::{Service as _, service_fn};

use super::{
    body::{BodyChunks, RequestBody, status},
    listener::Wire,
    service::{INFER, is_grpc},
};
use crate::{
    OpenError, Options,
    connection::{Address, chain},
    security::Token,
};

/// One HTTP/2 connection.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    channel: Channel,
    token: Option<Token>,
}

impl Client {
    /// Opens a connection, once.
    pub(crate) async fn open(address: &Address, options: &Options) -> Result<Self, OpenError> {
        let bad = |why: String| OpenError::BadAddress { address: address.to_string(), why };
        let origin = |scheme: &str| {
            format!("{scheme}://{address}").parse::<Uri>().map_err(|error| bad(error.to_string()))
        };
        let tls = options.tls.clone();
        let endpoint = Endpoint::from(origin("http")?)
            // What the node reads in `:scheme`.
            .origin(origin(if tls.is_some() { "https" } else { "http" })?)
            .http2_keep_alive_interval(options.keepalive_interval)
            .keep_alive_timeout(options.keepalive_timeout)
            .keep_alive_while_idle(true)
            .max_frame_size(limits::MAX_FRAME_BYTES)
            .initial_stream_window_size(options.window_bytes)
            .initial_connection_window_size(options.window_bytes.max(limits::CONNECTION_WINDOW_BYTES));
        let host = address.host.clone();
        let connector = service_fn(move |to: Uri| {
            let (host, tls) = (host.clone(), tls.clone());
            async move {
                let port = to.port_u16().unwrap_or_default();
                let stream = TcpStream::connect((host.as_str(), port)).await?;
                stream.set_nodelay(true)?;
                let wire = match tls {
                    None => Wire::plain(stream),
                    Some(tls) => Wire::client(stream, &tls, &host).await?,
                };
                Ok::<_, std::io::Error>(TokioIo::new(wire))
            }
        });
        let opened = tokio::time::timeout(
            // A peer that takes connections and says nothing is as good as none.
            options.connect_timeout.max(Duration::from_millis(1)),
            endpoint.connect_with_connector(connector),
        );
        let unreachable =
            |why: String| OpenError::Unreachable { address: address.to_string(), why };
        match opened.await {
            Ok(Ok(channel)) => Ok(Self { channel, token: options.token.clone() }),
            Ok(Err(error)) => Err(unreachable(chain(&error))),
            Err(_) => Err(unreachable("it takes the connection and says nothing".into())),
        }
    }

    pub(crate) async fn describe(
        &self,
        request: DescribeRequest,
    ) -> Result<DescribeResponse, Status> {
        Ok(self.calls().describe(self.request(request)).await?.into_inner())
    }

    pub(crate) async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        Ok(self.calls().flush(self.request(request)).await?.into_inner())
    }

    fn calls(&self) -> SutNodeClient<Channel> {
        SutNodeClient::new(self.channel.clone())
    }

    fn request<T>(&self, message: T) -> tonic::Request<T> {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            headers.insert(header::AUTHORIZATION, token.header());
        }
        tonic::Request::from_parts(MetadataMap::from_headers(headers), Extensions::new(), message)
    }

    /// Opens a stream of requests. Samples flow before the node has answered with its headers.
    pub(crate) async fn infer(
        &self,
        session: &str,
        requests: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    ) -> Result<BodyChunks, Status> {
        let mut request = Request::new(Body::new(RequestBody(requests)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(INFER);
        let headers = request.headers_mut();
        headers.insert(header::TE, header::HeaderValue::from_static("trailers"));
        let content_type = header::HeaderValue::from_static("application/grpc");
        headers.insert(header::CONTENT_TYPE, content_type);
        let session = session.parse().map_err(|_| Status::internal("a session is plain text"))?;
        headers.insert(SESSION_HEADER, session);
        if let Some(token) = &self.token {
            headers.insert(header::AUTHORIZATION, token.header());
        }
        let mut channel = self.channel.clone();
        let lost = |error: tonic::transport::Error| Status::from_error(error.into());
        poll_fn(|context| channel.poll_ready(context)).await.map_err(lost)?;
        let response = channel.call(request).await.map_err(lost)?;
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK || !is_grpc(&head.headers) {
            let text = format!("it answers as a web server does, with {}", head.status);
            return Err(Status::unknown(text));
        }
        // A call that is refused at once has its status here.
        status(head.headers)?;
        Ok(BodyChunks(body))
    }
}
