//! A client that sends samples as fast as it can and never reads a response.

use netdiv_contract::{SessionHeader, framing, v1::InferRequest};
use tokio::runtime::{Builder, Runtime};

use crate::client;

/// Connections of a flooding client. Dropping the value closes them.
#[derive(Debug)]
pub struct Flood(Option<Runtime>);

impl Flood {
    /// Opens connections with one stream each, and sends samples of `sample_bytes` bytes on all of
    /// them.
    pub fn start(address: &str, transport: &str, connections: usize, sample_bytes: usize) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let payload = vec![0; sample_bytes].into();
        let message = framing::encode(&InferRequest { payload, ..InferRequest::default() });
        for number in 0..connections {
            let (address, transport) = (address.to_owned(), transport.to_owned());
            let message = message.clone();
            runtime.spawn(async move {
                let connection = client::open(&address, &transport).await.ok()?;
                let requests = tokio_stream::iter(std::iter::repeat(message));
                let name = format!("flood-{number}");
                let session = SessionHeader { name, ..SessionHeader::default() };
                let _never_read = connection.infer(&session, requests).await;
                std::future::pending::<Option<()>>().await
            });
        }
        Self(Some(runtime))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        // Shutting down the runtime closes the connections, whatever their state.
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
