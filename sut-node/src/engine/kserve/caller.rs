//! Calls that an instance makes to a server, over a connection that opens again after a loss.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderValue, Uri};
use netdiv_contract::limits;
use tonic::{
    Request,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint},
};

use crate::engine::{
    kserve::rpc::grpc_inference_service_client::GrpcInferenceServiceClient,
    remote::{
        connector::{Version, connector},
        server_settings::ServersConfig,
        servers,
    },
};

pub(super) type KserveServers = servers::Servers<Caller>;

pub(super) type KserveServer = servers::Server<Caller>;

pub(super) struct Caller {
    client: GrpcInferenceServiceClient<Channel>,
    token: Option<MetadataValue<Ascii>>,
    asked: AtomicU64,
}

impl Caller {
    /// Creates a caller. The connection opens on the first call, on the current runtime.
    pub(super) fn new(url: &Uri, settings: &ServersConfig) -> Self {
        let connector = connector(&settings.tls, Version::Two);
        let channel = Endpoint::from(url.clone()).connect_with_connector_lazy(connector);
        let client = GrpcInferenceServiceClient::new(channel);
        Self {
            client: client.max_decoding_message_size(limits::MAX_MESSAGE_BYTES),
            token: settings.token.as_ref().and_then(metadata),
            asked: AtomicU64::new(0),
        }
    }

    /// Returns a client. All clients of a caller share its connection.
    pub(super) fn client(&self) -> GrpcInferenceServiceClient<Channel> {
        self.client.clone()
    }

    /// Wraps a message or a stream of messages in a request, with the token if there is one.
    pub(super) fn call<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }

    pub(super) fn next_id(&self) -> String {
        self.asked.fetch_add(1, Ordering::Relaxed).to_string()
    }
}

fn metadata(header: &HeaderValue) -> Option<MetadataValue<Ascii>> {
    let mut value = MetadataValue::try_from(header.as_bytes()).ok()?;
    value.set_sensitive(true);
    Some(value)
}
