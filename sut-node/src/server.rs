//! The program: load the model, serve until asked to end, drain.

use std::{future::Future, sync::Arc, time::Duration};

use netdiv_proto::{
    FILE_DESCRIPTOR_SET,
    limits::{MAX_FRAME_BYTES, MAX_HEADER_BYTES, WINDOW_BYTES, connection_window_bytes},
};
use netdiv_transport::{
    Connections,
    grpc::{self, SutNodeService},
    quic::{self, QuicServer},
    security::{ServerTls, ServerToken},
};
use tokio::{sync::watch, time::timeout};
use tonic::{server::NamedService, transport::Server};
use tonic_health::{
    ServingStatus,
    pb::health_server::{Health, HealthServer},
};
use tracing::{error, info, warn};

use crate::{
    condition::Condition,
    config::Config,
    engine_pool::EnginePool,
    error::NodeError,
    identity, metrics,
    network::Sockets,
    observe::{Observe, ObservedHandler},
    service::{Node, Service},
    watchdog,
};

/// Calls that one connection may have open at the same time; a LoadGen node needs three.
const MAX_CALLS_PER_CONNECTION: u32 = 64;

/// How often an idle client is asked whether it lives, and how long its answer may take: streams of clients
/// that are gone must not hold samples for ever.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a node on open sockets until `shutdown` is ready and what is in flight is answered.
///
/// The node answers only after its engines are warm. `shutdown` gives the name of the signal that asks it to end.
pub async fn run(
    config: Config,
    sockets: Sockets,
    shutdown: impl Future<Output = &'static str> + Send + 'static,
) -> Result<(), NodeError> {
    reload_on_hangup(config.network.tls.clone(), config.network.token.clone());
    if let Some(address) = config.metrics {
        metrics::serve(address).map_err(|error| NodeError::Metrics(error.to_string()))?;
    }
    let (config, engines, machine) = tokio::task::spawn_blocking(move || {
        let engines = EnginePool::start(&config)?;
        let machine = identity::machine(&config, &engines.model)?;
        Ok::<_, NodeError>((config, engines, machine))
    })
    .await??;

    let pulses = engines.pulses.clone();
    let (model, queue, room, engines) = engines.split();
    let (engine, model_name) = (model.engine.clone(), model.name.clone());
    let condition = Arc::new(watch::Sender::new(Condition::Well));
    let node = Node::new(&config, model, machine, queue.clone(), room, condition.subscribe());
    let streams = node.streams().clone();
    tokio::spawn(watchdog::watch(
        pulses,
        config.engine_timeout,
        condition.clone(),
        streams.clone(),
    ));
    let service = Service(Arc::new(node));
    // Turns true when no stream is open any more: until then a caller is told why it is refused.
    let (close, closing) = watch::channel(false);
    let connections = Connections::new(config.network.max_connections, metrics::connections);
    let quic = match sockets.udp {
        Some(socket) => {
            let settings = quic_settings(&config, connections.clone());
            Some(quic::serve(settings, socket, ObservedHandler(service.clone()), closing.clone())?)
        }
        None => None,
    };
    let served = async {
        let grpc = async {
            match sockets.tcp {
                Some(listener) => {
                    let health = health(condition.subscribe());
                    let incoming = grpc::incoming(
                        listener,
                        config.network.tls.clone(),
                        connections,
                        closing.clone(),
                    );
                    serve_grpc(&config, service, health.await, incoming, closing.clone()).await
                }
                None => Ok(()),
            }
        };
        let quic = async {
            if let Some(serving) = quic {
                serving.await;
            }
            Ok(())
        };
        tokio::try_join!(grpc, quic)
    };
    info!(
        node = config.name, address = ?sockets.address, grpc = config.network.grpc,
        quic = config.network.quic, tls = config.network.tls.is_some(), engine, model = model_name, "ready"
    );
    tokio::pin!(served);
    let outcome = tokio::select! {
        // The signal first: from the first connection on, the node knows what it means.
        biased;
        signal = shutdown => {
            let (owed, before) = (streams.owed(), streams.answered());
            info!(signal, owed, "asked to end");
            condition.send_replace(Condition::Ending(signal));
            let close = async {
                streams.none_open().await;
                close.send_replace(true);
            };
            let ended = timeout(config.drain_timeout, async { tokio::join!(served, close).0 }).await;
            let (answered, dropped) = (streams.answered() - before, streams.owed());
            if ended.is_err() {
                warn!(dropped, "not everything is answered and taken, or a client stays; ending");
            }
            info!(answered, dropped, "drained");
            ended.unwrap_or(Ok(((), ()))).map(drop)
        }
        outcome = &mut served => outcome.map(drop),
    };
    queue.close();
    tokio::task::spawn_blocking(move || engines.wait()).await?;
    info!(node = config.name, "ended");
    outcome?;
    Ok(())
}

/// A node is told to read its certificates and its token again; without any there is nothing to do, and it lives on.
fn reload_on_hangup(tls: Option<Arc<ServerTls>>, token: Option<Arc<ServerToken>>) {
    let reload = move || {
        match tls.as_ref().map(|tls| tls.reload()) {
            None => info!("there are no certificates to read again"),
            Some(Ok(())) => info!("certificates were read again"),
            Some(Err(error)) => error!(%error, "certificates stay as they were"),
        }
        match token.as_ref().map(|token| token.reload()) {
            None => {}
            Some(Ok(())) => info!("the token was read again"),
            Some(Err(error)) => error!(%error, "the token stays as it was"),
        }
    };
    tokio::spawn(async move {
        if let Err(error) = node_process::on_hangup(reload).await {
            error!(%error, "cannot wait for SIGHUP; certificates and token stay as they are");
        }
    });
}

/// The health service, which says how the node is: of the service by its name, and of the node as a whole.
async fn health(mut condition: watch::Receiver<Condition>) -> HealthServer<impl Health> {
    let (health, service) = tonic_health::server::health_reporter();
    let report = async move |condition: &Condition| {
        let well = *condition == Condition::Well;
        let status = if well { ServingStatus::Serving } else { ServingStatus::NotServing };
        health.set_service_status("", status).await;
        health.set_service_status(<SutNodeService<Service> as NamedService>::NAME, status).await;
        metrics::well(well);
    };
    report(&Condition::Well).await;
    tokio::spawn(async move {
        while condition.changed().await.is_ok() {
            let now = condition.borrow_and_update().clone();
            report(&now).await;
        }
    });
    service.max_decoding_message_size(MAX_HEADER_BYTES)
}

/// What a connection may send ahead of being admitted is memory too.
fn windows(config: &Config) -> (u32, u32) {
    let most = config.max_in_flight_bytes;
    let stream = config.network.receive_window_bytes;
    let (least, connection) = (*WINDOW_BYTES.start(), connection_window_bytes(stream));
    (most.clamp(least, stream), most.clamp(least, connection))
}

fn quic_settings(config: &Config, connections: Connections) -> QuicServer {
    let (window_bytes, connection_window_bytes) = windows(config);
    QuicServer {
        tls: config.network.tls.clone(),
        token: config.network.token.clone(),
        connections,
        mtu: config.network.quic_mtu,
        window_bytes,
        connection_window_bytes,
        keepalive_interval: KEEPALIVE_INTERVAL,
        keepalive_timeout: KEEPALIVE_TIMEOUT,
    }
}

async fn serve_grpc(
    config: &Config,
    service: Service,
    health: HealthServer<impl Health>,
    incoming: grpc::Incoming,
    mut closing: watch::Receiver<bool>,
) -> Result<(), tonic::transport::Error> {
    #[allow(clippy::expect_used, reason = "a constant of the build")]
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("the compiled .proto files are valid")
        .max_decoding_message_size(MAX_HEADER_BYTES);
    let service = SutNodeService::new(service, config.network.token.clone());
    let (stream_window, connection_window) = windows(config);
    Server::builder()
        .max_frame_size(MAX_FRAME_BYTES)
        .initial_stream_window_size(stream_window)
        .initial_connection_window_size(connection_window)
        .max_concurrent_streams(MAX_CALLS_PER_CONNECTION)
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .concurrency_limit_per_connection(MAX_CALLS_PER_CONNECTION as usize)
        // Calls beyond the limit are refused at once instead of waiting unseen.
        .load_shed(true)
        .layer(Observe)
        .add_service(health)
        .add_service(reflection)
        .add_service(service)
        .serve_with_incoming_shutdown(incoming, async move {
            // The sender lives as long as the server.
            let _ = closing.wait_for(|closing| *closing).await;
        })
        .await
}
