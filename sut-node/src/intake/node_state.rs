//! State of the node that its streams share: description, limits, and the destination of samples.

use std::sync::Arc;

use netdiv_contract::{
    PROTOCOL_VERSION, description_fault,
    encoding::{self, Encoding},
    limits,
    v1::{DescribeResponse, InferRequest, Machine, Tokens},
};
use tokio::sync::{Semaphore, watch};
use tonic::Status;

use crate::{
    batching::queue::BatchQueue,
    engine::{batched::run_batch, interface::SequentialEngine, list::EngineConfig, none::NoModel},
    fabric::measure::Fabric,
    ground::condition::Condition,
    intake::evidence::Evidence,
    model::identity::Model,
    sample::{
        admission::{Admission, Cost},
        queued_sample::QueuedSample,
        replies::{self, Replies, ReplySender},
        sessions::{Session, Sessions},
        streams::{MAX_STREAMS, Streams},
        token_room::TokenRoom,
    },
    settings::config::Config,
};

/// State of the node that its connections share.
pub(crate) struct NodeState {
    pub(super) description: DescribeResponse,
    pub(super) evidence: Arc<Evidence>,
    pub(super) model: Model,
    pub(super) max_payload_bytes: usize,
    max_in_flight_samples: usize,
    pub(super) max_in_flight_bytes: u32,
    /// Room for long messages that are being received, in bytes over all streams. It is as large as
    /// the room for the payloads of samples in flight.
    pub(super) assembling: Semaphore,
    pub(super) admission: &'static Admission,
    pub(super) queue: Arc<BatchQueue<QueuedSample>>,
    /// Replaces the queue and the engines if there is no model.
    no_model: Option<NoModel>,
    response_encoding: Encoding,
    pub(super) sessions: Sessions,
    streams: Arc<Streams>,
    /// Measurement of the network to other nodes, if this node may dial them.
    pub(super) fabric: Option<Fabric>,
    pub(super) condition: watch::Receiver<Condition>,
}

impl NodeState {
    pub(crate) fn new(
        config: &Config,
        model: Model,
        evidence: Arc<Evidence>,
        queue: Arc<BatchQueue<QueuedSample>>,
        room: u32,
        condition: watch::Receiver<Condition>,
    ) -> Self {
        let max_in_flight_samples = config.node.max_in_flight_samples.unwrap_or(room);
        // First reading; later ones are of the same machine with the same settings.
        let machine = evidence.last().unwrap_or_default();
        let admission = Admission::new(
            max_in_flight_samples,
            config.node.max_in_flight_bytes,
            config.node.max_in_flight_tokens,
        );
        Self {
            description: describe(config, &model, &machine, max_in_flight_samples),
            evidence,
            model,
            max_payload_bytes: config.node.max_payload_bytes,
            max_in_flight_samples: max_in_flight_samples as usize,
            max_in_flight_bytes: config.node.max_in_flight_bytes,
            assembling: Semaphore::new(config.node.max_in_flight_bytes as usize),
            admission,
            queue,
            no_model: matches!(config.engine, EngineConfig::None(_))
                .then(|| NoModel::new(config.node.max_payload_bytes)),
            // Without a model, responses are zeros, which are not worth the time of compression.
            response_encoding: match config.engine {
                EngineConfig::None(_) => Encoding::None,
                _ => config.node.response_encoding,
            },
            sessions: Sessions::default(),
            streams: Arc::default(),
            fabric: config
                .fabric_peers
                .clone()
                .map(|peers| Fabric::new(peers, config.node.busy_poll)),
            condition,
        }
    }

    /// Returns the reason why LoadGen nodes would refuse this node's description; `None` if they
    /// accept it.
    pub(crate) fn fault(&self) -> Option<String> {
        description_fault(&self.description)
    }

    #[cfg(test)]
    pub(crate) fn admission(&self) -> &Admission {
        self.admission
    }

    /// Returns a function that counts the samples that are admitted and not answered.
    pub(crate) fn in_flight(&self) -> impl Fn() -> usize + Send + use<> {
        let (most, admission) = (self.max_in_flight_samples, self.admission);
        move || {
            let [free, ..] = admission.free();
            most.saturating_sub(free)
        }
    }

    pub(crate) fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// Returns the status that refuses new work, if the node is ending.
    pub(super) fn ending_status(&self) -> Option<Status> {
        let condition = self.condition.borrow();
        condition.is_ending().then(|| condition.refusal()).flatten()
    }

    /// Opens the reply channel of a stream. Fails if the node accepts no streams now.
    pub(super) fn reply_channel(
        &self,
        session: Arc<Session>,
        checksums: bool,
        tokens: Tokens,
    ) -> Result<(ReplySender, Replies), Status> {
        if tokens != Tokens::Whole && self.model.tokens.is_none() {
            let engine = &self.model.engine;
            let text =
                format!("the engine {engine} does not support tokens; request whole outputs");
            return Err(Status::failed_precondition(text));
        }
        let (samples, bytes) = (self.max_in_flight_samples, self.max_in_flight_bytes as usize);
        let channel = replies::channel(&self.streams, samples, bytes, session, checksums, tokens);
        // The condition is checked only after the stream was added. Either a waiter for the end of
        // the last stream sees this stream, or this stream sees that the node is ending.
        if let Some(refusal) = self.condition.borrow().refusal() {
            return Err(refusal);
        }
        channel.ok_or_else(|| {
            let text =
                format!("{MAX_STREAMS} streams are open; use fewer, or wait for others to end");
            Status::resource_exhausted(text)
        })
    }

    /// Passes the samples of a stream to the batcher. Without a model, responds to them at once.
    pub(super) fn submit(&self, samples: &mut Vec<QueuedSample>) {
        match &self.no_model {
            Some(engine) if !samples.is_empty() => {
                let batch = std::mem::replace(samples, Vec::with_capacity(samples.len()));
                run_batch(
                    &mut SequentialEngine::new(engine.clone()),
                    batch,
                    self.response_encoding,
                );
            }
            _ => self.queue.push(samples),
        }
    }

    /// Returns the cost of a sample. If the sample claims a decoded size above the limit, this size
    /// does not count: the sample will be refused, not decoded.
    pub(super) fn cost(&self, request: &InferRequest) -> Cost {
        let decoded = match request.encoding() {
            Encoding::None => request.payload.len() as u64,
            Encoding::Zstd | Encoding::Lz4 => request.decoded_bytes,
        };
        let allowed = Some(decoded).filter(|n| *n <= self.max_payload_bytes as u64).unwrap_or(0);
        let bytes = encoding::cost(request.payload.len(), allowed);
        self.admission.cost(bytes, allowed, self.model.working_bytes(allowed))
    }

    /// Returns the reason why the node never has room for a valid sample of this decoded length.
    pub(super) fn refusal(&self, bytes: usize) -> Option<String> {
        let bytes = bytes as u64;
        self.admission.refusal(bytes, self.model.working_bytes(bytes))
    }
}

/// Returns the maximum length of a prompt that model and node accept, in tokens; 0: unknown.
fn longest_input(config: &Config, model: &Model) -> u32 {
    let of_model = model.tokens.map(|tokens| tokens.max_input).filter(|most| *most > 0);
    let of_node = config.node.max_in_flight_tokens.map(TokenRoom::longest_input);
    of_model.into_iter().chain(of_node).min().unwrap_or(0)
}

/// Returns the maximum length of an output, in tokens; 0: unknown.
fn longest_output(config: &Config, model: &Model) -> u32 {
    let of_model = model.tokens.map_or(0, |tokens| tokens.max_output);
    config.node.max_in_flight_tokens.map_or(of_model, |room| room.longest_output)
}

fn describe(
    config: &Config,
    model: &Model,
    machine: &Machine,
    max_in_flight_samples: u32,
) -> DescribeResponse {
    DescribeResponse {
        nonce: 0,
        protocol_version: PROTOCOL_VERSION,
        node_name: config.name.clone(),
        software_version: env!("CARGO_PKG_VERSION").into(),
        engine: model.engine.clone(),
        model_name: model.name.clone(),
        model_sha256: model.sha256.clone(),
        input: Some(model.input.clone()),
        encodings: model.encodings.iter().map(|encoding| *encoding as i32).collect(),
        max_payload_bytes: config.node.max_payload_bytes as u64,
        max_in_flight_samples,
        max_in_flight_bytes: config.node.max_in_flight_bytes.into(),
        max_in_flight_tokens: config.node.max_in_flight_tokens.map_or(0, |room| room.max_tokens),
        max_output_tokens: longest_output(config, model),
        max_batch: u32::try_from(config.node.batching.max_batch).unwrap_or(u32::MAX),
        config_sha256: machine.settings_sha256.clone().unwrap_or_default(),
        machine: None,
        checksums: true,
        never_empty: model.is_never_empty(),
        tokens: model.tokens.is_some(),
        vocabulary: model.tokens.map_or(0, |tokens| tokens.vocabulary),
        max_input_tokens: longest_input(config, model),
        end_tokens: model.end_tokens.clone(),
        machine_id: machine.machine_id.clone().unwrap_or_default(),
        host_name: machine.host_name.clone().unwrap_or_default(),
        max_connections: u32::try_from(config.network.max_connections).unwrap_or(u32::MAX),
        max_streams: MAX_STREAMS as u32,
        max_streams_per_connection: limits::MAX_STREAMS_PER_CONNECTION,
        processor_ns: 0,
        processor_wait_ns: 0,
        throttled_ns: 0,
        stolen_ns: 0,
        servers: Vec::new(),
        decoding: model.decoding as i32,
        sampling_seed: model.sampling_seed.map(|seed| seed.0),
        token_counts: model.token_counts,
    }
}
