//! The program: loads the model, serves until it is asked to end, and drains.

use std::{future::Future, io, sync::Arc, time::Duration};

use netdiv_contract::{
    FILE_DESCRIPTOR_SET,
    limits::{MAX_CALLS, MAX_FRAME_BYTES, MAX_HEADER_BYTES, WINDOW_BYTES, connection_window_bytes},
};
use netdiv_transport::{
    Connections,
    grpc::{self, Guarded, SutNodeService},
    quic::{self, QuicServer},
    security::{ServerTls, ServerToken},
};
use sd_notify::NotifyState;
use tokio::{runtime::Handle, sync::watch, time::timeout};
use tonic::{server::NamedService, transport::Server};
use tonic_health::{
    ServingStatus,
    pb::health_server::{Health, HealthServer},
};
use tracing::{error, info, warn};

use crate::{
    engine::pool::EnginePool,
    ground::{condition::Condition, engine_activity::loss_reason, metrics},
    intake::{evidence::Evidence, node_state::NodeState, service::Service},
    process::{
        error::NodeError,
        observation::{ObserveLayer, ObservedHandler},
        ready_file::{ReadyContent, ReadyFile},
        sockets::Sockets,
        watchdog,
    },
    sample::streams::Streams,
    settings::config::Config,
};

/// Interval between keep-alive messages to idle clients, and time limit for their answers: streams
/// of lost clients must not hold samples forever.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a node on open sockets until `shutdown` completes and all samples in flight are answered.
///
/// The node answers only after its engines are warm. `shutdown` returns the name of the signal that
/// asks the node to end. If it completes before the node is ready, a thread may still be inside a
/// library that loads the model. `version` is the text that `--version` prints.
pub(crate) async fn run(
    config: Config,
    version: &'static str,
    sockets: Sockets,
    shutdown: impl Future<Output = &'static str> + Send + 'static,
) -> Result<(), NodeError> {
    reload_on_hangup(config.network.tls.clone(), config.network.token.clone());
    if let Some(address) = config.metrics {
        metrics::serve(address, version).await.map_err(NodeError::Metrics)?;
    }
    let ready_file = config.ready_file.as_deref().map(ReadyFile::prepare).transpose()?;
    let runtime = Handle::current();
    let loading = tokio::task::spawn_blocking(move || {
        let engines = EnginePool::start(&config.engine, &config.node, &runtime)?;
        let evidence = Evidence::of(&config, &engines.model)?;
        Ok::<_, NodeError>((config, engines, evidence))
    });
    tokio::pin!(shutdown);
    let (config, engines, evidence) = tokio::select! {
        // From its first poll on, `shutdown` waits for signals.
        biased;
        signal = &mut shutdown => return Err(NodeError::Stopped(signal)),
        loaded = loading => loaded??,
    };

    let pulses = engines.pulses.clone();
    let (model, queue, room, engines) = engines.split();
    let (engine, model_name) = (model.engine.clone(), model.name.clone());
    let condition = Arc::new(watch::Sender::new(Condition::Well));
    let node = NodeState::new(&config, model, evidence, queue.clone(), room, condition.subscribe());
    node.fault().map(NodeError::Description).map_or(Ok(()), Err)?;
    let streams = node.streams().clone();
    if config.metrics.is_some() {
        let waiting = queue.clone();
        metrics::watch_samples(node.in_flight(), move || waiting.len());
    }
    tokio::spawn(watchdog::watch(
        pulses.clone(),
        config.node.engine_timeout,
        condition.clone(),
        streams.clone(),
    ));
    let ready = ReadyContent {
        name: &config.name,
        grpc: sockets.tcp.as_ref().map(|_| sockets.address),
        quic: sockets.udp.as_ref().map(|_| sockets.address),
        metrics: config.metrics,
        pid: std::process::id(),
    };
    let address = sockets.address;
    // Becomes true when all streams are closed. Until then callers receive the reason for a
    // refusal.
    let (close, closing) = watch::channel(false);
    let served = serve(&config, sockets, Service(Arc::new(node)), condition.subscribe(), closing)?;
    tokio::pin!(served);
    // The file is removed when this value is dropped, at the end.
    let ready_file = ready_file.map(|mut file| file.publish(&ready).map(|()| file)).transpose();
    let mut watched = condition.subscribe();
    info!(
        node = config.name,
        ?address,
        grpc = ready.grpc.is_some(),
        quic = ready.quic.is_some(),
        tls = config.network.tls.is_some(),
        engine,
        model = model_name,
        "ready"
    );
    let status = format!("node {} is ready", config.name);
    tell_systemd(&[NotifyState::Ready, NotifyState::Status(&status)]);
    let ended = match &ready_file {
        Err(_) => Some(Ok(())),
        Ok(_) => tokio::select! {
            // The signal first: a node that has accepted a connection must react to a signal.
            biased;
            signal = &mut shutdown => {
                info!(signal, owed = streams.owed(), "asked to end");
                condition.send_replace(Condition::Ending(signal));
                None
            }
            // Samples in flight are answered with errors.
            () = Condition::lost(&mut watched) => None,
            outcome = &mut served => Some(outcome),
        },
    };
    let outcome = match ended {
        Some(outcome) => outcome,
        None => {
            tell_systemd(&ENDING);
            drain(served, close, &streams, config.node.drain_timeout).await
        }
    };
    queue.close();
    tokio::task::spawn_blocking(move || engines.wait()).await?;
    info!(node = config.name, "ended");
    drop(ready_file?);
    // The device may be lost in the last batch of a drain.
    let lost = loss_reason(&pulses).map(NodeError::DeviceLost);
    outcome.map_err(NodeError::from).and(lost.map_or(Ok(()), Err))
}

/// Serves the sockets until `closing` turns true.
fn serve(
    config: &Config,
    sockets: Sockets,
    service: Service,
    condition: watch::Receiver<Condition>,
    closing: watch::Receiver<bool>,
) -> io::Result<impl Future<Output = Result<(), tonic::transport::Error>>> {
    let connections = Connections::new(config.network.max_connections, metrics::connections);
    let quic = sockets.udp.map(|socket| {
        let settings = quic_settings(config, connections.clone());
        quic::serve(settings, socket, ObservedHandler(service.clone()), closing.clone())
    });
    let quic = quic.transpose()?;
    let grpc = async move {
        let Some(listener) = sockets.tcp else { return Ok(()) };
        let health = health(condition).await;
        let tls = config.network.tls.clone();
        let incoming = grpc::incoming(listener, tls, connections, closing.clone());
        serve_grpc(config, service, health, incoming, closing).await
    };
    let quic = async {
        if let Some(serving) = quic {
            serving.await;
        }
        Ok(())
    };
    Ok(async { tokio::try_join!(grpc, quic).map(drop) })
}

/// Waits until all samples that were read are answered and the clients have closed, for at most
/// `limit`.
async fn drain(
    served: impl Future<Output = Result<(), tonic::transport::Error>>,
    close: watch::Sender<bool>,
    streams: &Streams,
    limit: Duration,
) -> Result<(), tonic::transport::Error> {
    let before = streams.answered();
    let close = async {
        streams.wait_until_closed().await;
        close.send_replace(true);
    };
    let ended = timeout(limit, async { tokio::join!(served, close).0 }).await;
    let (answered, dropped) = (streams.answered() - before, streams.owed());
    if ended.is_err() {
        warn!(
            dropped,
            "--drain-timeout elapsed with samples unanswered, replies unread or a client connected; ending"
        );
    }
    info!(answered, dropped, "drained");
    ended.unwrap_or(Ok(()))
}

/// Reloads certificates and token on SIGHUP. The signal never ends a node, even without
/// certificates.
fn reload_on_hangup(tls: Option<Arc<ServerTls>>, token: Option<Arc<ServerToken>>) {
    let reload = move || {
        match tls.as_ref().map(|tls| tls.reload()) {
            None => info!("there are no certificates to reload"),
            Some(Ok(())) => info!("certificates were reloaded"),
            Some(Err(error)) => {
                error!(%error, "certificates cannot be reloaded; the node keeps the old ones")
            }
        }
        match token.as_ref().map(|token| token.reload()) {
            None => {}
            Some(Ok(())) => info!("the token was reloaded"),
            Some(Err(error)) => {
                error!(%error, "the token cannot be reloaded; the node keeps the old one")
            }
        }
    };
    tokio::spawn(async move {
        if let Err(error) = netdiv_node_common::process::on_hangup(reload).await {
            error!(%error, "cannot wait for SIGHUP; certificates and token will not be reloaded");
        }
    });
}

/// Creates the health service: it reports the status of the node as a whole and of its service by
/// name.
async fn health(mut condition: watch::Receiver<Condition>) -> HealthServer<impl Health> {
    let (health, service) = tonic_health::server::health_reporter();
    let report = async move |condition: &Condition| {
        let well = *condition == Condition::Well;
        let status = if well { ServingStatus::Serving } else { ServingStatus::NotServing };
        health.set_service_status("", status).await;
        health.set_service_status(<SutNodeService<Service> as NamedService>::NAME, status).await;
        metrics::ready(well);
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

/// Returns the receive windows of a stream and of a connection, in bytes. Bytes that a client sends
/// before admission take memory too.
///
/// NOTE: A client whose paused messages fill the window of its connection delays its own calls on
/// that connection, until the node reads on. Other connections are not affected.
fn windows(config: &Config) -> (u32, u32) {
    let most = config.node.max_in_flight_bytes;
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
    // Reflection sends longer answers than its requests, so unauthenticated peers receive none.
    let reflection = Guarded::new(reflection, config.network.token.clone());
    let service = SutNodeService::new(service, config.network.token.clone());
    let (stream_window, connection_window) = windows(config);
    Server::builder()
        .max_frame_size(MAX_FRAME_BYTES)
        .initial_stream_window_size(stream_window)
        .initial_connection_window_size(connection_window)
        .max_concurrent_streams(MAX_CALLS)
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .concurrency_limit_per_connection(MAX_CALLS as usize)
        // Calls beyond the limit are refused at once and do not wait unnoticed.
        .load_shed(true)
        .layer(ObserveLayer)
        .add_service(health)
        .add_service(reflection)
        .add_service(service)
        .serve_with_incoming_shutdown(incoming, async move {
            // The sender lives as long as the server.
            let _ = closing.wait_for(|closing| *closing).await;
        })
        .await
}

/// States that systemd receives when a node begins to end: it still answers samples in flight.
const ENDING: [NotifyState<'_>; 2] =
    [NotifyState::Stopping, NotifyState::Status("answering samples in flight")];

/// Reports a state to systemd if it has started the node (`sd_notify(3)`, `Type=notify`). Otherwise
/// does nothing.
fn tell_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!(%error, "cannot notify the service manager");
    }
}
