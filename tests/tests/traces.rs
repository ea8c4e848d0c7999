//! Traces: a collector of OTLP gets those of batches and runs, from real programs.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use e2e::{LoadGen, SutNode};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::any_value::Value,
    trace::v1::Span,
};
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// The spans that were sent, with the service that sent them.
type Spans = Arc<Mutex<Vec<(String, Span)>>>;

/// Keeps what it is sent.
struct Collector(Spans);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for sent in request.into_inner().resource_spans {
            let attributes = sent.resource.map(|resource| resource.attributes).unwrap_or_default();
            let service = attributes.into_iter().find(|fact| fact.key == "service.name");
            let service = match service.and_then(|fact| fact.value?.value) {
                Some(Value::StringValue(service)) => service,
                other => panic!("no name of a service: {other:?}"),
            };
            let spans = sent.scope_spans.into_iter().flat_map(|scope| scope.spans);
            let spans = spans.map(|span| (service.clone(), span));
            self.0.lock().expect("no panic").extend(spans);
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A collector, its URL, and what it was sent.
fn collector() -> (Runtime, String, Spans) {
    let runtime = Runtime::new().expect("a runtime");
    let spans = Spans::default();
    let service = TraceServiceServer::new(Collector(spans.clone()));
    let address: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let listener = runtime.block_on(TcpListener::bind(address)).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let incoming = TcpListenerStream::new(listener);
    runtime.spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    (runtime, url, spans)
}

fn count(span: &Span, key: &str) -> i64 {
    let fact = span.attributes.iter().find(|fact| fact.key == key);
    match fact.and_then(|fact| fact.value.as_ref()?.value.as_ref()) {
        Some(Value::IntValue(count)) => *count,
        other => panic!("{key} is {other:?}: {span:#?}"),
    }
}

/// The stages of a span, in the order of their beginnings, after checking that they fill it.
fn stages<'a>(spans: &'a [(String, Span)], whole: &Span) -> Vec<&'a str> {
    let is_stage =
        |span: &&Span| span.parent_span_id == whole.span_id && span.trace_id == whole.trace_id;
    let mut stages: Vec<_> = spans.iter().map(|(_, span)| span).filter(is_stage).collect();
    stages.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
    let first = stages.first().map(|span| span.start_time_unix_nano);
    let last = stages.iter().map(|span| span.end_time_unix_nano).max();
    assert_eq!(first, Some(whole.start_time_unix_nano), "{whole:#?}");
    assert_eq!(last, Some(whole.end_time_unix_nano), "{whole:#?}");
    stages.into_iter().map(|span| span.name.as_str()).collect()
}

#[test]
fn a_collector_gets_batches_and_the_run_with_their_stages() {
    let (_runtime, url, spans) = collector();
    let mut a = SutNode::echo("a", &["--otlp", &url, "--otlp-ratio", "1"]);
    let none = SutNode::echo("b", &["--otlp", &url, "--otlp-ratio", "0"]);
    let nodes = [&a.address[..], &none.address];
    let run = LoadGen::new(&nodes, "server").short(300, 200).args(&["--otlp", &url]).run();
    let result = run.result();
    let answered = |node: usize| result["nodes"][node]["answered"].as_i64().expect("a count");
    assert!(answered(0) > 0 && answered(1) > 0, "{result:#}");
    // What is left is sent when a node ends.
    a.signal("-TERM");
    assert_eq!(a.wait().0, Some(0));
    drop(none);

    let spans = spans.lock().expect("no panic").clone();
    let of = |service: &str| -> Vec<&Span> {
        spans.iter().filter(|(from, _)| from == service).map(|(_, span)| span).collect()
    };
    let batches: Vec<_> = of("sut-node").into_iter().filter(|span| span.name == "batch").collect();
    assert_eq!(batches.iter().map(|batch| count(batch, "samples")).sum::<i64>(), answered(0));
    for batch in &batches {
        let stages: BTreeSet<_> = stages(&spans, batch).into_iter().collect();
        assert_eq!(stages, BTreeSet::from(["queue", "compute", "encode"]));
        assert!(batch.parent_span_id.is_empty() && batch.links.is_empty(), "{batch:#?}");
    }
    assert_eq!(of("sut-node").len(), 4 * batches.len());
    let traces: BTreeSet<_> = batches.iter().map(|batch| &batch.trace_id).collect();
    assert_eq!(traces.len(), batches.len(), "each batch is a trace");

    let runs: Vec<_> = of("loadgen-node").into_iter().filter(|span| span.name == "run").collect();
    let [run] = runs[..] else { panic!("one run: {runs:#?}") };
    assert_eq!(stages(&spans, run), ["prepare", "connect", "check", "test", "conclude"]);
    let facts: BTreeMap<_, _> =
        run.attributes.iter().map(|f| (&f.key[..], f.value.clone())).collect();
    let text = format!("{facts:?}");
    assert!(text.contains("server") && text.contains("performance"), "{text}");
}

#[test]
fn a_collector_that_does_not_answer_is_told_of_and_stops_nothing() {
    let nowhere = e2e::scrape::free_address();
    let mut node =
        SutNode::echo("a", &["--otlp", &format!("http://{nowhere}"), "--otlp-ratio", "1"]);
    let log = node.log();
    let run = LoadGen::new(&[&node.address], "server").short(200, 200);
    let run = run.args(&["--otlp", &format!("http://{nowhere}")]).run();
    assert_eq!(run.result()["samples"]["lost"], 0, "{run:#?}");
    assert!(run.stderr.contains("xport"), "{}", run.stderr);
    node.signal("-TERM");
    assert_eq!(node.wait().0, Some(0));
    let log = log.join().expect("read");
    assert!(log.contains("ended") && log.contains("xport"), "{log}");
}

#[test]
fn traces_that_cannot_be_are_refused() {
    for (url, why) in [
        ("collector", "--otlp `collector`: write http://HOST:PORT"),
        ("https://127.0.0.1:4317", "where TLS is needed"),
    ] {
        LoadGen::new(&["127.0.0.1:1"], "offline").args(&["--otlp", url]).run().expect_refusal(why);
        let log = SutNode::try_start("a", &["--otlp", url]).expect_err("no collector");
        assert!(log.contains(why), "{log}");
    }
    for (args, why) in [
        (&["--otlp-ratio", "0.5"][..], "--otlp-ratio needs --otlp"),
        (&["--otlp", "http://127.0.0.1:1", "--otlp-ratio", "2"], "must be from 0 to 1"),
    ] {
        let log = SutNode::try_start("a", args).expect_err("no ratio");
        assert!(log.contains(why), "{log}");
    }
}
