//! The program: load the model, serve until asked to end, drain.

use std::{future::Future, sync::Arc, time::Duration};

use netdiv_proto::{
    FILE_DESCRIPTOR_SET,
    limits::{MAX_FRAME_BYTES, WINDOW_BYTES, connection_window_bytes},
};
use netdiv_transport::{
    grpc::{self, SutNodeService},
    quic::{self, QuicServer},
    security::ServerTls,
};
use tokio::{net::TcpListener, sync::watch};
use tonic::transport::Server;
use tracing::{error, info, warn};

use crate::{
    config::Config,
    engine_pool::EnginePool,
    error::NodeError,
    identity, metrics,
    network::Sockets,
    observe::{Observe, ObservedHandler},
    service::{Node, Service},
};

/// Calls that one connection may have open at the same time; a LoadGen node needs three.
const MAX_CALLS_PER_CONNECTION: u32 = 64;

/// How often an idle client is asked whether it lives, and how long its answer may take: streams of clients
/// that are gone must not hold samples for ever.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a node on open sockets until `shutdown` is ready and what is in flight is answered.
///
/// The node answers only after its engines are warm.
pub async fn run(
    config: Config,
    sockets: Sockets,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), NodeError> {
    reload_on_hangup(config.network.tls.clone());
    if let Some(address) = config.metrics {
        metrics::serve(address).map_err(|error| NodeError::Metrics(error.to_string()))?;
    }
    let (config, engines, machine) = tokio::task::spawn_blocking(move || {
        let engines = EnginePool::start(&config)?;
        let machine = identity::machine(&config, &engines.model)?;
        Ok::<_, NodeError>((config, engines, machine))
    })
    .await??;

    let (model, queue, room, engines) = engines.split();
    let (engine, model_name) = (model.engine.clone(), model.name.clone());
    let (end, ending) = watch::channel(false);
    let node = Node::new(&config, model, machine, queue.clone(), room, ending.clone());
    let service = Service(Arc::new(node));
    let quic = match sockets.udp {
        Some(socket) => {
            let settings = quic_settings(&config);
            Some(quic::serve(settings, socket, ObservedHandler(service.clone()), ending.clone())?)
        }
        None => None,
    };
    let served = async {
        let grpc = async {
            match sockets.tcp {
                Some(listener) => serve_grpc(&config, service, listener, ending.clone()).await,
                None => Ok(()),
            }
        };
        let quic = async {
            if let Some(serving) = quic {
                serving.await;
            }
            Ok(())
        };
        let asked = async {
            shutdown.await;
            end.send_replace(true);
            Ok(())
        };
        tokio::try_join!(grpc, quic, asked)
    };
    info!(
        node = config.name, address = ?sockets.address, grpc = config.network.grpc,
        quic = config.network.quic, tls = config.network.tls.is_some(), engine, model = model_name, "ready"
    );
    tokio::pin!(served);
    let outcome = tokio::select! {
        outcome = &mut served => outcome,
        () = after(ending.clone(), config.drain_timeout) => {
            warn!(waiting = queue.len(), "not everything is answered, or a client stays; ending");
            Ok(((), (), ()))
        }
    };
    queue.close();
    tokio::task::spawn_blocking(move || engines.wait()).await?;
    info!(node = config.name, "ended");
    outcome?;
    Ok(())
}

/// A node is told to read its certificates again; without any there is nothing to do, and it lives on.
fn reload_on_hangup(tls: Option<Arc<ServerTls>>) {
    let reload = move || match tls.as_ref().map(|tls| tls.reload()) {
        None => info!("there are no certificates to read again"),
        Some(Ok(())) => info!("certificates were read again"),
        Some(Err(error)) => error!(%error, "certificates stay as they were"),
    };
    tokio::spawn(async move {
        if let Err(error) = node_process::on_hangup(reload).await {
            error!(%error, "cannot wait for SIGHUP; certificates stay as they are");
        }
    });
}

/// Some time after the node was asked to end.
async fn after(mut ending: watch::Receiver<bool>, pause: Duration) {
    // The sender lives as long as the server.
    let _ = ending.wait_for(|ending| *ending).await;
    tokio::time::sleep(pause).await;
}

/// What a connection may send ahead of being admitted is memory too.
fn windows(config: &Config) -> (u32, u32) {
    let most = config.max_in_flight_bytes;
    let stream = config.network.receive_window_bytes;
    let (least, connection) = (*WINDOW_BYTES.start(), connection_window_bytes(stream));
    (most.clamp(least, stream), most.clamp(least, connection))
}

fn quic_settings(config: &Config) -> QuicServer {
    let (window_bytes, connection_window_bytes) = windows(config);
    QuicServer {
        tls: config.network.tls.clone(),
        token: config.network.token.clone(),
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
    listener: TcpListener,
    mut ending: watch::Receiver<bool>,
) -> Result<(), tonic::transport::Error> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<SutNodeService<Service>>().await;
    #[allow(clippy::expect_used, reason = "a constant of the build")]
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("the compiled .proto files are valid");
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
        .add_service(health_service)
        .add_service(reflection)
        .add_service(service)
        .serve_with_incoming_shutdown(
            grpc::incoming(listener, config.network.tls.clone(), ending.clone()),
            async {
                // The sender lives as long as the server.
                let _ = ending.wait_for(|ending| *ending).await;
            },
        )
        .await
}
