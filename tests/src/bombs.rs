//! A client whose samples are short on the wire and long once decoded.

use std::time::Duration;

use bytes::Bytes;
use netdiv_contract::{
    SessionHeader,
    burst::BurstOutcome,
    encoding::{Encoding, encode},
    framing,
    v1::{InferRequest, InferResponse, Status},
};
use tokio::runtime::Builder;

use crate::client;

/// Client whose samples are short on the wire and long once decoded.
#[derive(Debug, Clone)]
pub struct Bombs {
    /// `grpc` or `quic`.
    pub transport: &'static str,
    /// Encoding of the samples.
    pub encoding: Encoding,
    /// Number of samples.
    pub samples: u64,
    /// Decoded payload of every sample.
    pub payload: Bytes,
    /// Time before the client reads its first response.
    pub hold: Duration,
}

impl Bombs {
    /// Sends all samples and reads all responses. Fails unless every response is good.
    pub fn run(&self, address: &str) -> Result<(), String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| error.to_string())?.block_on(self.talk(address))
    }

    async fn talk(&self, address: &str) -> Result<(), String> {
        let connection = client::open(address, self.transport).await?;
        let encoded = encode(self.encoding, self.payload.clone()).map_err(|e| e.to_string())?;
        let request = move |id| InferRequest {
            id,
            encoding: encoded.encoding as i32,
            decoded_bytes: encoded.decoded_bytes,
            payload: encoded.bytes.clone(),
            ..InferRequest::default()
        };
        let requests =
            tokio_stream::iter((0..self.samples).map(move |id| framing::encode(&request(id))));
        let replies = connection.infer(&SessionHeader::default(), requests).await;
        let mut replies = replies.map_err(|status| status.to_string())?;
        tokio::time::sleep(self.hold).await;
        let (mut burst, mut answered) = (Vec::<InferResponse>::new(), 0);
        loop {
            let next = replies.next_burst(&mut burst).await.map_err(|status| status.to_string())?;
            for reply in burst.drain(..) {
                if reply.status() != Status::Ok {
                    return Err(format!("sample {}: {}", reply.id, reply.error));
                }
                answered += 1;
            }
            if next == BurstOutcome::End {
                break;
            }
        }
        connection.close().await;
        if answered == self.samples { Ok(()) } else { Err(format!("{answered} responses")) }
    }
}
