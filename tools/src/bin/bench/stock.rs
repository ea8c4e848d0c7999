//! Generated tonic code, used as in its examples, with the same receive windows as ours.

use std::{error::Error, net::TcpListener, pin::Pin};

use bytes::Bytes;
use netdiv_contract::{
    limits::{CONNECTION_WINDOW_BYTES, MAX_PAYLOAD_BYTES, STREAM_WINDOW_BYTES},
    v1::{
        DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse, FlushRequest,
        FlushResponse, InferRequest, InferResponse, MeasureRequest, MeasureResponse,
        sut_node_client::SutNodeClient,
        sut_node_server::{SutNode, SutNodeServer},
    },
};
use tokio::{runtime::Builder, task::JoinSet};
use tokio_stream::{Stream, StreamExt as _};
use tonic::{
    Request, Response, Status, Streaming,
    transport::{Channel, Endpoint, Server, server::TcpIncoming},
};

use crate::meter::{Cost, Meter};

/// Number of calls that [`unary`] has in flight.
const UNARY_IN_FLIGHT: usize = 64;

struct Echo;

#[tonic::async_trait]
impl SutNode for Echo {
    type InferStream = Pin<Box<dyn Stream<Item = Result<InferResponse, Status>> + Send>>;

    async fn infer(
        &self,
        request: Request<Streaming<InferRequest>>,
    ) -> Result<Response<Self::InferStream>, Status> {
        let answer = |request: Result<InferRequest, Status>| {
            let InferRequest { id, payload, .. } = request?;
            let payload = payload.slice(..payload.len().min(8));
            Ok(InferResponse { id, payload, ..InferResponse::default() })
        };
        Ok(Response::new(Box::pin(request.into_inner().map(answer))))
    }

    /// Handles one sample as a separate call: its bytes are the session's name.
    async fn flush(
        &self,
        request: Request<FlushRequest>,
    ) -> Result<Response<FlushResponse>, Status> {
        let samples_received = request.get_ref().samples_sent;
        Ok(Response::new(FlushResponse { samples_received }))
    }

    async fn digests(
        &self,
        _: Request<DigestsRequest>,
    ) -> Result<Response<DigestsResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn measure(
        &self,
        _: Request<MeasureRequest>,
    ) -> Result<Response<MeasureResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn describe(
        &self,
        _: Request<DescribeRequest>,
    ) -> Result<Response<DescribeResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }
}

/// Serves until the process ends.
pub fn serve(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let service = SutNodeServer::new(Echo).max_decoding_message_size(MAX_PAYLOAD_BYTES);
        Server::builder()
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .add_service(service)
            .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)))
            .await?;
        Ok(())
    })
}

async fn connect(address: &str) -> Result<SutNodeClient<Channel>, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?
        .tcp_nodelay(true)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    Ok(SutNodeClient::new(endpoint.connect().await?))
}

/// Sends samples over one stream and waits for all replies.
pub fn stream(
    meter: &Meter,
    address: &str,
    payloads: &[Bytes],
    samples: usize,
) -> Result<Cost, Box<dyn Error>> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let payloads = payloads.to_vec();
    runtime.block_on(async {
        let mut client = connect(address).await?;
        let request = move |id: usize| InferRequest {
            id: id as u64,
            payload: payloads[id % payloads.len()].clone(),
            ..InferRequest::default()
        };
        let started = meter.start();
        let requests = tokio_stream::iter((0..samples).map(request));
        let mut replies = client.infer(requests).await?.into_inner();
        let mut left = samples;
        while replies.message().await?.is_some() {
            left -= 1;
        }
        if left == 0 { Ok(started.stop()) } else { Err("replies are missing".into()) }
    })
}

/// Sends each sample as a separate call.
pub fn unary(
    meter: &Meter,
    address: &str,
    payloads: &[Bytes],
    samples: usize,
) -> Result<Cost, Box<dyn Error>> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    // The contract has no unary call with a payload; a text of the same length replaces it.
    let text = "x".repeat(payloads[0].len());
    runtime.block_on(async {
        let client = connect(address).await?;
        let started = meter.start();
        let mut calls = JoinSet::new();
        for caller in 0..UNARY_IN_FLIGHT {
            let (mut client, text) = (client.clone(), text.clone());
            let mine = samples / UNARY_IN_FLIGHT + usize::from(caller < samples % UNARY_IN_FLIGHT);
            calls.spawn(async move {
                for sample in 0..mine {
                    let samples_sent = sample as u64;
                    client.flush(FlushRequest { session: text.clone(), samples_sent }).await?;
                }
                Ok::<_, Status>(())
            });
        }
        while let Some(done) = calls.join_next().await {
            done??;
        }
        Ok(started.stop())
    })
}
