//! A client that sends prompts as fast as it can and reads their outputs slowly.

use std::{collections::HashMap, time::Duration};

use bytes::{Bytes, BytesMut};
use netdiv_contract::{
    SessionHeader,
    burst::BurstOutcome,
    framing,
    layout::{DataType, Tensor, pack},
    tokens,
    v1::{InferRequest, InferResponse, Part, Status, Tokens},
};
use tokio::runtime::Builder;

use crate::client;

/// Number of token ids in a prompt.
const PROMPT: i32 = 16;

/// Client that sends prompts as fast as it can and reads their outputs slowly.
#[derive(Debug, Clone, Copy)]
pub struct SlowReader {
    /// `grpc` or `quic`.
    pub transport: &'static str,
    /// Number of prompts.
    pub prompts: u64,
    /// Number of tokens of each output.
    pub output_tokens: usize,
    /// Tokens that the client requests.
    pub tokens: Tokens,
    /// Time before the first read.
    pub hold: Duration,
    /// Pause before each later read.
    pub pause: Duration,
}

impl SlowReader {
    /// Sends all prompts and reads all outputs. Fails unless every output is whole and begins with
    /// the tokens sent before it.
    pub fn run(&self, address: &str) -> Result<(), String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| error.to_string())?.block_on(self.talk(address))
    }

    async fn talk(&self, address: &str) -> Result<(), String> {
        let connection = client::open(address, self.transport).await?;
        let session = SessionHeader { tokens: self.tokens, ..SessionHeader::default() };
        let requests = tokio_stream::iter((0..self.prompts).map(|id| framing::encode(&prompt(id))));
        let replies = connection.infer(&session, requests).await;
        let mut replies = replies.map_err(|status| status.to_string())?;
        tokio::time::sleep(self.hold).await;
        let mut begun = HashMap::<u64, BytesMut>::new();
        let (mut burst, mut whole) = (Vec::new(), 0);
        loop {
            tokio::time::sleep(self.pause).await;
            let next = replies.next_burst(&mut burst).await.map_err(|status| status.to_string())?;
            for reply in burst.drain(..) {
                whole += u64::from(self.record_reply(&mut begun, &reply)?);
            }
            if next == BurstOutcome::End {
                break;
            }
        }
        match (whole == self.prompts, begun.is_empty()) {
            (true, true) => Ok(()),
            _ => Err(format!("{whole} outputs to {} prompts", self.prompts)),
        }
    }

    /// Records a reply. Returns true if it completes an output.
    fn record_reply(
        &self,
        begun: &mut HashMap<u64, BytesMut>,
        reply: &InferResponse,
    ) -> Result<bool, String> {
        let wrong = |why: &str| Err(format!("sample {}: {why}", reply.id));
        if reply.status() != Status::Ok {
            return wrong(&reply.error);
        }
        if reply.part() != Part::Whole {
            begun.entry(reply.id).or_default().extend(&reply.payload);
            return Ok(false);
        }
        let before = begun.remove(&reply.id);
        if before.is_some() == (self.tokens == Tokens::Whole) {
            return wrong("other tokens than requested");
        }
        let output = &reply.payload;
        if !output.starts_with(&before.unwrap_or_default()) {
            return wrong("its output does not begin with the tokens sent before it");
        }
        match tokens::ids(output).len() == self.output_tokens {
            true => Ok(true),
            false => wrong("its output has a different length"),
        }
    }
}

fn prompt(id: u64) -> InferRequest {
    let ids: Vec<i32> = (0..PROMPT).map(|place| place + id as i32 % 1000).collect();
    request(id, &ids)
}

/// Returns the message with a prompt.
pub fn request(id: u64, ids: &[i32]) -> InferRequest {
    let data = tokens::to_bytes(ids);
    let prompt = Tensor { data_type: DataType::Int32, shape: vec![ids.len()], data: &data[..] };
    let payload: Bytes = pack(&[prompt]);
    InferRequest { id, payload, ..InferRequest::default() }
}
