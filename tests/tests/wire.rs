//! Contents of the network traffic (rules, section 6.2.1). docs/PROTOCOL.md shows the golden bytes.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use e2e::{Behaviour, FakeNode, LoadGen, SutNode, fake_node::BEFORE_THE_RUN};
use netdiv_contract::{
    PROTOCOL_VERSION, checksum,
    encoding::decode,
    layout::InputLayout,
    tokens,
    v1::{
        CallHeader, CallStatus, DescribeRequest, FlushRequest, InferRequest, InferResponse, Part,
        Status, Tokens, sut_node_client::SutNodeClient,
    },
};
use netdiv_dataset as dataset;
use prost::Message;
use tonic::transport::{Channel, Endpoint};

use crate::calls::soon;

/// Returns the bytes that docs/PROTOCOL.md shows below this heading.
fn golden(heading: &str) -> Vec<u8> {
    let document = include_str!("../../docs/PROTOCOL.md");
    let section = document.split_once(heading).unwrap_or_else(|| panic!("no {heading}")).1;
    let block = section.split("```").nth(1).expect("a block of bytes");
    let hex = block.lines().skip(1).flat_map(|line| line.split('|').next());
    hex.flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).unwrap_or_else(|_| panic!("{byte} is not hex")))
        .collect()
}

fn assert_golden<M: Message + Default + PartialEq + std::fmt::Debug>(heading: &str, message: &M) {
    let bytes = golden(heading);
    assert_eq!(message.encode_to_vec(), bytes, "{heading}: encoding");
    assert_eq!(&M::decode(&bytes[..]).expect("the golden bytes"), message, "{heading}: decoding");
}

#[test]
fn messages_have_the_documented_bytes() {
    let request = InferRequest {
        id: 0x0001_0000_0200_0003,
        encoding: 0,
        decoded_bytes: 0,
        crc32c: None,
        payload: Bytes::from_static(b"\x00\x05\x0a\x10"),
    };
    assert_golden("### Golden: a request", &request);
    let of_payload = checksum::payload_checksum(&request.payload);
    let crc32c = Some(checksum::request_checksum(of_payload, request.id, 0, 0));
    assert_golden("### Golden: a checked request", &InferRequest { crc32c, ..request });
    let response = InferResponse {
        id: 0x0001_0000_0200_0003,
        status: Status::Ok as i32,
        error: String::new(),
        encoding: 0,
        decoded_bytes: 0,
        queue_ns: 1000,
        prepare_ns: 200,
        compute_ns: 30_000,
        batch_size: 4,
        part: Part::Whole as i32,
        token_count: 0,
        first_token_ns: 0,
        cached_tokens: 0,
        crc32c: None,
        payload: Bytes::from_static(b"\x07\x00\x00\x00"),
    };
    assert_golden("### Golden: a response", &response);
    let crc32c = Some(checksum::response_checksum(&response));
    assert_golden("### Golden: a checked response", &InferResponse { crc32c, ..response });
    let first = InferResponse {
        id: 0x0001_0000_0200_0003,
        queue_ns: 1000,
        compute_ns: 20_000,
        batch_size: 1,
        part: Part::First as i32,
        token_count: 1,
        first_token_ns: 20_000,
        payload: tokens::to_bytes(&[5]),
        ..InferResponse::default()
    };
    assert_golden("### Golden: a first token", &first);
    let whole = InferResponse {
        compute_ns: 30_000,
        part: Part::Whole as i32,
        token_count: 2,
        cached_tokens: 16,
        payload: tokens::to_bytes(&[5, 9]),
        ..first
    };
    assert_golden("### Golden: a whole output", &whole);
    assert_golden(
        "### Golden: a call header",
        &CallHeader {
            protocol_version: PROTOCOL_VERSION,
            method: "Infer".into(),
            session: "s1".into(),
            token: String::new(),
            checksums: false,
            digests: false,
            tokens: Tokens::Whole as i32,
            max_output_tokens: 0,
        },
    );
    assert_golden(
        "### Golden: a call status",
        &CallStatus { code: tonic::Code::Unauthenticated as i32, message: "no".into() },
    );
    assert_golden(
        "### Golden: a flush",
        &FlushRequest { session: "00c0ffee00c0ffee".into(), samples_sent: 500 },
    );
}

#[test]
fn each_sample_crosses_alone_and_unchanged() {
    for encoding in ["none", "zstd", "lz4"] {
        let node = FakeNode::start(Behaviour::good("fake"));
        LoadGen::new(&[&node.address], "multi-stream")
            .fabric("100x2000@5")
            .accuracy()
            .args(&["--encoding", encoding, "--connections", "2"])
            .run()
            .expect(0);
        let data = dataset::open("synthetic:100x2000@5").expect("a data set");
        let any = InputLayout::default();
        let read = |n| data.read(n).expect("a sample").into_payload(&any);
        let samples: HashSet<_> = (0..100).map(read).collect();
        node.seen(|seen| {
            // MultiStream fills its last query of eight.
            assert_eq!(seen.requests.len(), 104, "one message for each sample");
            for request in seen.requests.clone() {
                let InferRequest { encoding, payload, decoded_bytes, .. } = request;
                let plain = decode(encoding, payload, decoded_bytes, 2000).expect("lossless");
                assert!(samples.contains(&plain), "the sample's own bytes");
            }
            let ids: HashSet<_> = seen.requests.iter().map(|request| request.id).collect();
            assert_eq!(ids.len(), 104, "no id is used twice");
            assert_eq!(seen.sessions.len(), 2, "a stream for each connection");
            assert_eq!(seen.flushes.len(), 1);
            assert_eq!(seen.flushes[0].samples_sent, 104);
            assert_eq!(seen.flushes[0].session, seen.sessions[0]);
        });
    }
}

#[test]
fn the_name_is_asked_over_the_network_every_time() {
    let delay = Duration::from_millis(100);
    let slow = FakeNode::start(Behaviour { describe_delay: delay, ..Behaviour::good("slow") });
    let quick = FakeNode::start(Behaviour::good("quick"));
    let outcome = LoadGen::new(&[&slow.address, &quick.address], "offline")
        .fabric("8x64")
        .short(0, 1)
        .run()
        .expect(0);
    let result = outcome.result();
    assert_eq!(result["sut_name"], "netdiv Network SUT [slow, quick]");
    let took = result["get_sut_name_duration_ns"].as_u64().expect("a time");
    assert!(took >= 100_000_000, "LoadGen waited {took} ns for a node that takes 100 ms");
    for node in [slow, quick] {
        // The handshake, LoadGen's first call, its call for the summary, and the node's counts.
        assert_eq!(node.seen(|seen| seen.describes), BEFORE_THE_RUN + 3);
    }
}

async fn connect(address: &str) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    endpoint.connect().await.expect("connects")
}

/// A stock client, generated from the `.proto` alone, talks to a real node.
#[tokio::test]
async fn a_stock_client_can_talk_to_a_node() {
    let node = SutNode::start("real", &["--batch-timeout", "1m"]);
    let mut client = SutNodeClient::new(connect(&node.address).await);
    let request =
        DescribeRequest { protocol_version: PROTOCOL_VERSION, nonce: 42, evidence: false };
    let description = client.describe(request).await.expect("describes").into_inner();
    assert_eq!((description.nonce, description.node_name.as_str()), (42, "real"));

    let good = InferRequest { id: 1, payload: vec![0; 64].into(), ..Default::default() };
    let short = InferRequest { id: 2, payload: vec![0; 63].into(), ..Default::default() };
    let odd = InferRequest { id: 3, encoding: 9, ..Default::default() };
    let bomb = InferRequest { id: 4, encoding: 1, decoded_bytes: 1 << 50, ..Default::default() };
    let requests = tokio_stream::iter([good, short, odd, bomb]);
    let mut replies = client.infer(requests).await.expect("a stream").into_inner();
    let mut next = async || soon(replies.message()).await.expect("no error").expect("a reply");
    for (id, text) in [
        (2, "the payload has 63 bytes, uint8[1, 8, 8] needs 64"),
        (3, "unknown encoding number 9"),
        (4, "the limit is 67108864"),
    ] {
        let reply = next().await;
        assert_eq!((reply.id, reply.status()), (id, Status::BadSample));
        assert!(reply.error.contains(text), "{}", reply.error);
    }
    // The good sample waits for a full batch, until a flush.
    let request = FlushRequest { session: String::new(), samples_sent: 4 };
    let flushed = soon(client.flush(request)).await;
    assert_eq!(flushed.expect("acknowledged").into_inner().samples_received, 4);
    let reply = next().await;
    assert_eq!((reply.id, reply.status(), reply.payload.len()), (1, Status::Ok, 4));
    assert!(reply.compute_ns > 0 && reply.batch_size == 1);
    assert!(replies.message().await.expect("no error").is_none(), "the stream ends with ours");
}

#[tokio::test]
async fn a_message_beyond_the_limit_ends_its_stream_only() {
    let node = SutNode::echo("a", &["--max-payload-bytes", "1000"]);
    let mut client = SutNodeClient::new(connect(&node.address).await);
    let send = |bytes: usize| {
        let request = InferRequest { id: 1, payload: vec![0; bytes].into(), ..Default::default() };
        tokio_stream::iter([request])
    };
    let mut replies = client.infer(send(100_000)).await.expect("a stream").into_inner();
    let error = replies.message().await.expect_err("too long");
    assert!(error.message().contains("too large"), "{error}");
    let mut replies = client.infer(send(1000)).await.expect("a stream").into_inner();
    let reply = replies.message().await.expect("no error").expect("a reply");
    assert_eq!(reply.status(), Status::Ok);
}

#[tokio::test]
async fn a_node_that_is_full_stops_reading_and_loses_nothing() {
    // Two samples of a megabyte at a time, 20 ms each.
    let limits = ["--max-in-flight-samples", "2", "--max-in-flight-bytes", "2000000"];
    let pace = ["--max-batch", "1", "--echo-batch", "20ms"];
    let node = SutNode::echo("a", &[limits, pace].concat());
    let mut client = SutNodeClient::new(connect(&node.address).await);
    let asked_for = Arc::new(AtomicUsize::new(0));
    let count = asked_for.clone();
    let requests = tokio_stream::iter((0..100).map(move |id| {
        count.fetch_add(1, Ordering::SeqCst);
        InferRequest { id, payload: vec![0; 1_000_000].into(), ..Default::default() }
    }));
    let mut replies = client.infer(requests).await.expect("a stream").into_inner();
    let mut ids = HashSet::new();
    while let Some(reply) = soon(replies.message()).await.expect("no error") {
        assert_eq!(reply.status(), Status::Ok);
        assert!(ids.insert(reply.id));
        // In flight, in the receive window, in the sockets and in the client's own buffers.
        let ahead = asked_for.load(Ordering::SeqCst) - ids.len();
        assert!(ahead < 30, "{ahead} samples were sent ahead of the answers");
    }
    assert_eq!(ids.len(), 100);
}

#[tokio::test]
async fn a_flush_lets_go_of_its_samples_wherever_they_are() {
    let node = SutNode::echo("a", &["--batch-timeout", "1m", "--max-batch", "1000"]);
    let channel = connect(&node.address).await;
    let mut client = SutNodeClient::new(channel.clone());
    let stranger = FlushRequest { session: "stranger".into(), samples_sent: 1 };
    let refused = soon(client.flush(stranger)).await.expect_err("no such session");
    assert_eq!(refused.code(), tonic::Code::FailedPrecondition);

    // The flush is sent first, and waits for the samples.
    let (samples, requests) = tokio::sync::mpsc::channel(10);
    let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
    let mut request = tonic::Request::new(requests);
    request.metadata_mut().insert("netdiv-session", "ours".parse().expect("ASCII"));
    let mut replies = client.infer(request).await.expect("a stream").into_inner();
    let flush = tokio::spawn(async move {
        let ours = FlushRequest { session: "ours".into(), samples_sent: 3 };
        SutNodeClient::new(channel).flush(ours).await
    });
    for id in 0..3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!flush.is_finished());
        samples.send(InferRequest { id, ..Default::default() }).await.expect("open");
    }
    let flushed = soon(flush).await.expect("no panic").expect("acknowledged").into_inner();
    assert_eq!(flushed.samples_received, 3);
    for _ in 0..3 {
        soon(replies.message()).await.expect("no error").expect("a reply");
    }
}

#[tokio::test]
async fn unknown_values_of_a_stream_s_headers_are_refused() {
    let node = SutNode::start("a", &["--engine", "tokens"]);
    for (name, value, is_known) in [
        ("netdiv-max-output-tokens", "3", true),
        ("netdiv-max-output-tokens", "-1", false),
        ("netdiv-max-output-tokens", "many", false),
        ("netdiv-max-output-tokens", "4294967296", false),
        ("netdiv-tokens", "first", true),
        ("netdiv-tokens", "last", false),
    ] {
        let mut client = SutNodeClient::new(connect(&node.address).await);
        let mut request = tonic::Request::new(tokio_stream::empty());
        request.metadata_mut().insert(name, value.parse().expect("ASCII"));
        let refused = client.infer(request).await.err().map(|status| status.code());
        let expected = (!is_known).then_some(tonic::Code::InvalidArgument);
        assert_eq!(refused, expected, "{name}: {value}");
    }
}

#[tokio::test]
async fn health_reflection_and_metrics_are_served() {
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    let metrics = e2e::ports::free_address();
    let node = SutNode::start("a", &["--metrics", &metrics]);
    let channel = connect(&node.address).await;
    let service = "netdiv.v1.SutNode".to_owned();
    let health = HealthClient::new(channel.clone()).check(HealthCheckRequest { service }).await;
    assert_eq!(health.expect("healthy").into_inner().status, 1);

    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let message_request = Some(MessageRequest::ListServices(String::new()));
    let request = ServerReflectionRequest { host: String::new(), message_request };
    let answers = ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::iter([request]))
        .await;
    let answer = answers.expect("a stream").into_inner().message().await.expect("no error");
    let Some(MessageResponse::ListServicesResponse(list)) = answer.and_then(|a| a.message_response)
    else {
        panic!("no list of services");
    };
    let names: HashSet<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    assert!(names.contains("netdiv.v1.SutNode") && names.contains("grpc.health.v1.Health"));

    // Health needs no token; reflection does.
    let folder = e2e::Folder::create();
    let token = folder.write("token", "0123456789abcdef");
    let guarded = SutNode::start("b", &["--token-file", &token]);
    let channel = connect(&guarded.address).await;
    let check = HealthCheckRequest { service: "netdiv.v1.SutNode".to_owned() };
    HealthClient::new(channel.clone()).check(check).await.expect("healthy");
    let refused = ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::iter([ServerReflectionRequest::default()]))
        .await;
    assert_eq!(refused.expect_err("no token").code(), tonic::Code::Unauthenticated);

    LoadGen::new(&[&node.address], "offline").accuracy().run().expect(0);
    let text = e2e::scrape::get(&metrics, "/metrics").expect("an answer");
    assert!(text.contains("netdiv_samples_received_total 500"), "{text}");
    assert!(text.contains("netdiv_batch_samples_bucket"), "{text}");
    assert!(text.contains("netdiv_rpcs_total{method=\"/netdiv.v1.SutNode/Flush\"} 1"), "{text}");
}
