//! Sends every node a sample through the QDL, without LoadGen, over the connections of a run: one
//! node at a time, so that each has the network and the machine for itself.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use loadgen_sys::{Abort, QuerySampleLibrary as _};
use netdiv_contract::{layout, tokens::ID_BYTES, v1::Decoding};
use netdiv_dataset::Dataset;
use netdiv_machine::doctor::{AskedNode, SampleAnswer, SentSample};
use netdiv_qdl::{AnswerTokens, Failure, NodeInfo, SampleSource, Settings};
use netdiv_receivers::{Probe, ProbeReceiver};
use parking_lot::Mutex;
use tracing::info;

use super::{
    SurveyReply,
    responses::{describe_response, mark_different},
};
use crate::{RunConfig, RunError, qsl::library::Library};

/// Index of the sample that is sent.
const SAMPLE: usize = Probe::SAMPLE;

/// Number of times that the sample is sent. The first time may find caches cold and kernels
/// unloaded.
const TIMES: usize = 2;

/// Length in bytes up to which two sampled responses may be equal by chance.
const SHORT: usize = 16 * ID_BYTES;

/// Sends a sample of the data set to all nodes that replied to the survey, and compares their
/// responses. Returns the nodes in the order of `asked`, and the sample.
pub(crate) fn send(
    config: &RunConfig,
    data: Box<dyn Dataset>,
    settings: &Settings,
    asked: &[SurveyReply],
) -> Result<(Vec<AskedNode>, SentSample), RunError> {
    let (dataset, holds) = (data.name(), data.layout().map(|holds| layout::describe(&holds)));
    let library = Library::new(data, config.encoding, config.checksums, None, None);
    // Samples are encoded for the input of the first node; a node with another input reports that
    // itself.
    let fits = |node: &NodeInfo| {
        let takes = node.description.input.clone().unwrap_or_default();
        library.prepare(takes, node.description.max_payload_bytes)?;
        library.check_tokens(config, &[&node.description]).map_err(|error| error.to_string())?;
        config.check_decoding(node.description.decoding()).map_or(Ok(()), Err)
    };
    let fits: Vec<_> = asked.iter().map(|one| one.answer.as_ref().ok().map(fits)).collect();
    library.load_samples(&[SAMPLE]).map_err(|Abort(why)| RunError::Usage(why))?;
    let library = Arc::new(library);
    let bytes = library.loaded()[SAMPLE].as_ref().map_or(0, |sample| sample.bytes.len());
    let known = config.benchmarks.find(&config.benchmark);
    let is_sampled = known.is_some_and(|known| known.sampled);
    let answered = super::nodes(asked).into_iter().zip(asked).zip(fits);
    let answered = answered.map(|((node, asked), fits)| match (&asked.answer, fits) {
        (Ok(info), Some(Ok(()))) => {
            let sampled = node.sampled || is_sampled;
            send_to_node(settings, info, &library, AskedNode { sampled, ..node })
        }
        (Ok(_), Some(Err(why))) => node.failed(why, false),
        _ => node,
    });
    let mut nodes: Vec<_> = answered.collect();
    mark_different(&mut nodes);
    Ok((nodes, SentSample { dataset, holds, index: SAMPLE, bytes }))
}

/// Sends the sample to one node, over one stream. Returns `asked` with the node's responses, or
/// with a failure.
fn send_to_node(
    settings: &Settings,
    node: &NodeInfo,
    library: &Arc<Library>,
    asked: AskedNode,
) -> AskedNode {
    let d = &node.description;
    info!(node = d.node_name, address = node.address, "asking");
    let alone = Settings {
        nodes: vec![node.address.clone()],
        connections_per_node: 1,
        streams_per_connection: 1,
        one_query_at_a_time: true,
        digests: false,
        tokens: match (d.tokens, d.token_counts) {
            (true, _) => AnswerTokens::First,
            (false, true) => AnswerTokens::Counted,
            (false, false) => AnswerTokens::Uncounted,
        },
        token_bounds: None,
        max_output_tokens: library.part().map(|part| part.max_output_tokens),
        ..settings.clone()
    };
    let heard = ResponseCollector::default();
    let source: Arc<dyn SampleSource> = library.clone();
    let qdl = match Probe::connect(alone, &library.expectation(), Box::new(heard.clone()), source) {
        Ok(qdl) => qdl,
        Err(error) => return asked.failed(&error, error.is_loss()),
    };
    let mut answers = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        match send_once(&qdl, &heard, d.tokens) {
            Ok(answer) => answers.push(answer),
            Err(failure) => {
                let lost = failure.is_loss();
                return AskedNode { answers, ..asked }.failed(failure, lost);
            }
        }
    }
    let is_steady = answers.windows(2).all(|two| two[0].sha256 == two[1].sha256);
    let is_long = answers.iter().all(|answer| answer.bytes > SHORT);
    let is_free = d.decoding() == Decoding::Sampled && d.sampling_seed.is_none();
    let asked = AskedNode { answers, ..asked };
    let why = if is_steady && is_long && is_free {
        "two long answers to one sample are equal: the engine does not sample; check its temperature"
    } else if !is_steady && !asked.sampled {
        "it gave another response to the same sample the second time"
    } else {
        return asked;
    };
    asked.failed(why, false)
}

fn send_once(
    qdl: &Probe,
    heard: &ResponseCollector,
    is_tokens: bool,
) -> Result<SampleAnswer, Failure> {
    *heard.0.lock() = SampleEvents::default();
    let started = Instant::now();
    qdl.issue(&[started])?;
    let reply = std::mem::take(&mut *heard.0.lock());
    let Some((at, payload)) = reply.whole else {
        return Err(Failure::Internal("a sample was completed without a response".into()));
    };
    let since = |at: Instant| at.saturating_duration_since(started).as_nanos() as u64;
    Ok(describe_response(&payload, is_tokens, since(at), reply.first_token.map(since)))
}

/// Time of the first token, and time and payload of the whole response, once they have arrived.
#[derive(Debug, Default)]
struct SampleEvents {
    first_token: Option<Instant>,
    whole: Option<(Instant, Bytes)>,
}

/// Receives the responses, in place of LoadGen.
#[derive(Debug, Clone, Default)]
struct ResponseCollector(Arc<Mutex<SampleEvents>>);

impl ProbeReceiver for ResponseCollector {
    fn first_token(&self) {
        self.0.lock().first_token = Some(Instant::now());
    }

    fn complete(&self, _: &[Instant], payloads: &[Bytes]) {
        let now = Instant::now();
        self.0.lock().whole = payloads.first().map(|payload| (now, payload.clone()));
    }
}
