//! Asking the nodes, one after the other, so that each has the network and the machine for itself.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use loadgen_sys::{Abort, QuerySampleLibrary as _};
use netdiv_contract::layout;
use netdiv_dataset::Dataset;
use netdiv_qdl::{AnswerTokens, Failure, LoadGen, NodeInfo, Qdl, SampleSource, Settings};
use parking_lot::Mutex;
use tracing::info;

use super::{Answered, Findings, Probed};
use crate::{RunConfig, RunError, qsl::library::Library};

/// The sample that is sent.
const SAMPLE: usize = 0;

/// How often. The first may find caches cold and kernels unloaded.
const TIMES: usize = 2;

/// Asks all nodes that are there, with a sample of the data set.
pub(crate) fn ask(
    config: &RunConfig,
    data: Box<dyn Dataset>,
    settings: &Settings,
) -> Result<Findings, RunError> {
    let (dataset, holds) = (data.name(), data.layout().map(|holds| layout::describe(&holds)));
    let library = Library::new(data, config.encoding, config.checksums, None, None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| RunError::Failed(error.to_string()))?;
    let there = runtime.block_on(netdiv_qdl::survey(&settings.nodes, &settings.network));
    drop(runtime);
    // Samples are encoded for what the first node takes; another that takes something else says so itself.
    let mut checked = Vec::with_capacity(there.len());
    for (address, node) in settings.nodes.iter().zip(there) {
        checked.push(match node {
            Ok(node) => {
                let takes = node.description.input.clone().unwrap_or_default();
                let fits = library.prepare(takes, node.description.max_payload_bytes);
                (described(&node), fits.map(|()| node).map_err(|why| (why, false)))
            }
            Err(error) => {
                let silent = Probed { address: address.clone(), ..Probed::default() };
                (silent, Err((error.to_string(), error.is_loss())))
            }
        });
    }
    library.load_samples(&[SAMPLE]).map_err(|Abort(why)| RunError::Usage(why))?;
    let library = Arc::new(library);
    let loaded = library.loaded();
    let sample_bytes = loaded[SAMPLE].as_ref().map_or(0, |sample| sample.bytes.len());
    let probe = |(probed, node): (Probed, Result<NodeInfo, (String, bool)>)| match node {
        Ok(node) => one(settings, &node, &library, probed),
        Err((why, lost)) => probed.failed(why, lost),
    };
    let nodes = checked.into_iter().map(probe).collect();
    let mut findings =
        Findings { dataset, holds, sample: SAMPLE, sample_bytes, nodes, alike: false };
    findings.compare();
    Ok(findings)
}

fn described(node: &NodeInfo) -> Probed {
    let d = &node.description;
    Probed {
        address: node.address.clone(),
        node: Some(d.node_name.clone()),
        engine: Some(d.engine.clone()),
        model: Some(d.model_name.clone()),
        model_sha256: Some(d.model_sha256.clone()),
        takes: Some(layout::describe(&d.input.clone().unwrap_or_default())),
        ..Probed::default()
    }
}

/// Sends the sample to one node, over one stream.
fn one(settings: &Settings, node: &NodeInfo, library: &Arc<Library>, probed: Probed) -> Probed {
    let d = &node.description;
    info!(node = d.node_name, address = node.address, "asking");
    let alone = Settings {
        nodes: vec![node.address.clone()],
        connections_per_node: 1,
        streams_per_connection: 1,
        one_query_at_a_time: true,
        digests: false,
        tokens: if d.tokens { AnswerTokens::First } else { AnswerTokens::Uncounted },
        token_bounds: None,
        ..settings.clone()
    };
    let heard = Heard::default();
    let source: Arc<dyn SampleSource> = library.clone();
    let qdl = match Qdl::connect(alone, &library.expectation(), heard.clone(), source) {
        Ok(qdl) => qdl,
        Err(error) => return probed.failed(&error, error.is_loss()),
    };
    let mut answers = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        match once(&qdl, &heard, d.tokens) {
            Ok(answer) => answers.push(answer),
            Err(failure) => {
                let lost = failure.is_loss();
                return Probed { answers, ..probed }.failed(failure, lost);
            }
        }
    }
    let is_steady = answers.windows(2).all(|two| two[0].sha256 == two[1].sha256);
    let probed = Probed { answers, ..probed };
    if is_steady {
        return probed;
    }
    probed.failed("it answered the same sample otherwise the second time", false)
}

fn once(qdl: &Qdl<Heard>, heard: &Heard, is_tokens: bool) -> Result<Answered, Failure> {
    *heard.0.lock() = Reply::default();
    let started = Instant::now();
    qdl.issue(std::iter::once(((), SAMPLE)))?;
    let reply = std::mem::take(&mut *heard.0.lock());
    let Some((at, payload)) = reply.whole else {
        return Err(Failure::Internal("a sample was complete without an answer".into()));
    };
    let since = |at: Instant| at.saturating_duration_since(started).as_nanos() as u64;
    Ok(Answered::new(&payload, is_tokens, since(at), reply.first_token.map(since)))
}

/// What has come of a sample.
#[derive(Debug, Default)]
struct Reply {
    first_token: Option<Instant>,
    whole: Option<(Instant, Bytes)>,
}

/// Takes the answers, in place of LoadGen.
#[derive(Debug, Clone, Default)]
struct Heard(Arc<Mutex<Reply>>);

impl LoadGen for Heard {
    type Ticket = ();

    fn first_token(&self, (): &mut (), _: &Bytes) {
        self.0.lock().first_token = Some(Instant::now());
    }

    fn complete(&self, tickets: &mut Vec<()>, payloads: &[Bytes]) {
        let now = Instant::now();
        tickets.clear();
        self.0.lock().whole = payloads.first().map(|payload| (now, payload.clone()));
    }
}
