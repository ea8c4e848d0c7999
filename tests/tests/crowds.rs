//! Crowds of hostile or careless clients: the node still serves its clients, and its log stays
//! short.

use std::{
    collections::VecDeque,
    fs,
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use bytes::Bytes;
use e2e::{Bombs, Folder, LoadGen, SutNode, process::transport, scrape, wait_until};
use netdiv_contract::{
    SessionHeader,
    encoding::Encoding,
    framing,
    v1::{DescribeRequest, InferRequest, InferResponse},
};
use netdiv_node_common::resources::descriptors::raise_limit;
use netdiv_transport::{Connection, Options, security::Token};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use socket2::{Domain, Socket, Type};
use tokio::runtime::Runtime;

use crate::calls::options;

/// Makes a short run.
fn run(node: &SutNode, args: &[&str]) {
    LoadGen::new(&[&node.address], "offline")
        .fabric("64x100")
        .accuracy()
        .args(args)
        .run()
        .expect(0);
}

/// Clients with a wrong token. Each makes one call, which is refused, and reconnects at once.
struct UnauthenticatedClients {
    refused: Arc<AtomicUsize>,
    _runtime: Runtime,
}

impl UnauthenticatedClients {
    fn start(node: &SutNode, count: usize, token: &str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let refused = Arc::new(AtomicUsize::new(0));
        let token = Some(Token::read(token.as_ref()).expect("a token"));
        for _ in 0..count {
            let options = Options { token: token.clone(), ..options() };
            let (address, refused) = (node.address.clone(), refused.clone());
            runtime.spawn(async move {
                loop {
                    // The pause keeps the system from running out of ports.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    let Ok(connection) = Connection::open(&address, &options).await else {
                        continue;
                    };
                    let answer = connection.describe(DescribeRequest::default()).await;
                    refused.fetch_add(usize::from(answer.is_err()), Ordering::Relaxed);
                    connection.close().await;
                }
            });
        }
        Self { refused, _runtime: runtime }
    }
}

/// Ends the node, and returns the lines of its log.
fn lines(mut node: SutNode, log: JoinHandle<String>) -> Vec<String> {
    let (code, _) = node.stop();
    let log = log.join().expect("it was read");
    assert_eq!(code, Some(0), "{log}");
    log.lines().map(String::from).collect()
}

/// Asserts that one log statement wrote no more lines than its limit allows for this time.
fn assert_few(log: &[String], words: &str, time: Duration) {
    let lines = log.iter().filter(|line| line.contains(words)).count() as u64;
    // 16 a second. The first and the last second are incomplete.
    assert!(
        (1..=16 * (time.as_secs() + 2)).contains(&lines),
        "{lines} lines `{words}` in {time:?}"
    );
}

#[test]
fn strangers_with_a_wrong_token_block_no_client() {
    let folder = Folder::create();
    let right = folder.write("right", "correct-horse-battery");
    let wrong = folder.write("wrong", "correct-horse-staples");
    let mut node = SutNode::echo("a", &["--token-file", &right, "--max-connections", "4"]);
    let log = node.log();
    let started = Instant::now();
    let strangers = UnauthenticatedClients::start(&node, 70, &wrong);
    wait_until("200 calls are refused", || strangers.refused.load(Ordering::Relaxed) > 200);
    for _ in 0..5 {
        run(&node, &["--token-file", &right, "--connections", "2"]);
    }
    drop(strangers);
    let log = lines(node, log);
    let words = if transport() == "quic" { "a call failed" } else { "a call was refused" };
    assert_few(&log, words, started.elapsed());
    assert!(log.iter().any(|line| line.contains("the token is missing or wrong")));
}

/// Connections opened as fast as possible that send nothing. Each stays open until many newer ones
/// exist.
struct ConnectionFlood {
    opened: Arc<AtomicUsize>,
    ending: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl ConnectionFlood {
    fn start(node: &SutNode, from: [u8; 4]) -> Self {
        raise_limit().expect("the limit of open files can be raised");
        let (opened, ending) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let address: SocketAddr = node.address.parse().expect("an address");
        let flood = || {
            let (opened, ending) = (opened.clone(), ending.clone());
            thread::spawn(move || {
                let mut young = VecDeque::new();
                while !ending.load(Ordering::Relaxed) {
                    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
                    // Lingering would use up the system's ports.
                    socket.set_linger(Some(Duration::ZERO)).expect("an option");
                    socket.bind(&SocketAddr::from((from, 0)).into()).expect("a port");
                    opened.fetch_add(
                        socket.connect(&address.into()).is_ok().into(),
                        Ordering::Relaxed,
                    );
                    young.push_back(socket);
                    young.drain(..young.len().saturating_sub(300));
                }
            })
        };
        let threads = (0..2).map(|_| flood()).collect();
        Self { opened, ending, threads }
    }
}

impl Drop for ConnectionFlood {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("it ends");
        }
    }
}

#[test]
fn a_flood_of_connections_blocks_no_client() {
    // Behind a port forwarder all connections have one address.
    for from in [[127, 0, 0, 2], [127, 0, 0, 1]] {
        let node = SutNode::echo("a", &[]);
        let flood = ConnectionFlood::start(&node, from);
        wait_until("2000 connections are open", || flood.opened.load(Ordering::Relaxed) > 2000);
        for _ in 0..5 {
            run(&node, &["--connections", "2"]);
        }
    }
}

#[test]
fn strangers_make_room_where_no_file_can_be_opened_any_more() {
    raise_limit().expect("the limit of open files can be raised");
    let node = SutNode::echo("a", &[]);
    let process = Pid::from_raw(node.id().cast_signed());
    let limit = Some(open_files(&node) as u64 + 40);
    prlimit(process, Resource::Nofile, Rlimit { current: limit, maximum: limit })
        .expect("the limit is lowered");
    let idle: Vec<_> =
        (0..200).map(|_| TcpStream::connect(&node.address).expect("connects")).collect();
    for _ in 0..3 {
        run(&node, &["--connections", "4"]);
    }
    drop(idle);
}

#[test]
fn a_run_waits_for_a_place() {
    let node = SutNode::echo("a", &["--max-connections", "1"]);
    let runtime = Runtime::new().expect("a runtime");
    let client = runtime.block_on(async {
        let client = Connection::open(&node.address, &options()).await.expect("connects");
        client.describe(DescribeRequest::default()).await.expect("it has the permit");
        client
    });
    let refused = LoadGen::new(&[&node.address], "offline").fabric("64x100").accuracy();
    refused
        .args(&["--connect-timeout", "500ms"])
        .run()
        .expect_refusal("accepts no more (--max-connections)");
    let leaving = thread::spawn(move || {
        thread::sleep(Duration::from_secs(3));
        runtime.block_on(client.close());
        drop((client, runtime));
    });
    run(&node, &[]);
    leaving.join().expect("it left");
}

#[tokio::test]
async fn broken_streams_of_a_client_write_few_lines() {
    let mut node = SutNode::echo("a", &[]);
    let log = node.log();
    let connection = Connection::open(&node.address, &options()).await.expect("connects");
    let started = Instant::now();
    let break_one = async || {
        // A message with an unknown flag.
        let requests = tokio_stream::iter([Bytes::from_static(&[77, 0, 0, 0, 0])]);
        let stream = connection.infer(&SessionHeader::default(), requests).await;
        let end = match stream {
            Ok(mut replies) => replies.next_message::<InferResponse>().await.map(drop),
            Err(status) => Err(status),
        };
        end.expect_err("the stream broke");
    };
    for _ in 0..2000 {
        break_one().await;
    }
    // The node reports the number of suppressed lines even if no such line follows.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let log = lines(node, log);
    assert_few(&log, "a stream broke", started.elapsed());
    let place = |words: &str| log.iter().position(|line| line.contains(words)).expect("is logged");
    assert!(place("log lines were suppressed") < place("asked to end"), "{log:#?}");
}

/// Returns the number of open files and connections of a node.
fn open_files(node: &SutNode) -> usize {
    fs::read_dir(format!("/proc/{}/fd", node.id())).expect("the node runs").count()
}

#[test]
fn idle_connections_to_the_metrics_take_nothing_from_the_clients() {
    raise_limit().expect("the limit of open files can be raised");
    let metrics = e2e::ports::free_address();
    let mut node = SutNode::echo("a", &["--metrics", &metrics]);
    let log = node.log();
    let before = open_files(&node);
    let idle: Vec<_> = (0..400).map(|_| TcpStream::connect(&metrics).expect("connects")).collect();
    wait_until("idle connections are closed", || open_files(&node) <= before + 20);
    let cpu = node.cpu_seconds();
    thread::sleep(Duration::from_secs(1));
    let used = node.cpu_seconds() - cpu;
    assert!(used < 0.3, "{used} s of a second, for connections that are idle");
    run(&node, &[]);
    let page = scrape::get(&metrics, "/metrics").expect("an answer");
    assert!(page.contains("netdiv_samples_received_total 64"), "{page}");
    drop(idle);
    let log = lines(node, log);
    assert!(log.len() < 20, "{log:#?}");
}

const MIB: usize = 1 << 20;

#[test]
fn samples_that_are_short_on_the_wire_take_no_more_memory_than_the_node_has_room_for() {
    let limits = ["--max-in-flight-bytes", "32MiB"];
    for (engine, args) in [
        ("echo", &["--max-in-flight-samples", "1"][..]),
        ("echo", &["--echo-answer-bytes", "8"]),
        ("echo", &["--echo-answer-bytes", "0"]),
        ("echo", &["--echo-answer-bytes", "8MiB", "--response-encoding", "lz4"]),
        ("none", &[]),
    ] {
        for encoding in [Encoding::Zstd, Encoding::Lz4] {
            let args_of_node = [&["--engine", engine], &limits[..], args].concat();
            // Memory is then what the node holds, without glibc's reserve of up to twice the
            // longest message.
            let trimmed = [("MALLOC_TRIM_THRESHOLD_", "131072".into())];
            let node = SutNode::start_with("a", &trimmed, &args_of_node);
            let before = node.peak_resident_bytes();
            // A little less than the bound below allows for: the process itself takes some MiB
            // more.
            let payload = vec![0; 15 * MIB].into();
            let hold = Duration::from_millis(300);
            let bombs = Bombs { transport: transport(), encoding, samples: 32, payload, hold };
            bombs.run(&node.address).expect("every answer");
            let more = node.peak_resident_bytes().saturating_sub(before) as usize / MIB;
            // In flight, owed, two responses in the transport, and one sample during decoding.
            assert!(more < 2 * 32 + 3 * 16, "{engine} {args:?} {encoding}: {more} MiB");
        }
    }
}

#[test]
fn clients_that_take_no_answers_hold_no_room_that_others_need_for_long_messages() {
    let limits = ["--max-in-flight-bytes", "8MiB", "--echo-answer-bytes", "0"];
    let node = SutNode::echo("a", &limits);
    let greedy = e2e::Flood::start(&node.address, transport(), 4, 3 * MIB);
    thread::sleep(Duration::from_secs(1));
    LoadGen::new(&[&node.address], "offline").fabric("8x3000000").accuracy().run().expect(0);
    drop(greedy);
}

#[tokio::test]
async fn a_stream_that_ends_lets_the_batches_of_others_fill_up() {
    let node = SutNode::echo("a", &["--max-batch", "64", "--batch-timeout", "700ms"]);
    let connection = Connection::open(&node.address, &options()).await.expect("connects");
    let one = framing::encode(&InferRequest { id: 1, ..InferRequest::default() });
    let (send, requests) = tokio::sync::mpsc::channel(1);
    let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
    let session = SessionHeader { name: "patient".into(), ..SessionHeader::default() };
    let mut replies = connection.infer(&session, requests).await.expect("a stream");
    send.send(one).await.expect("the stream is open");
    let started = Instant::now();
    for _ in 0..10 {
        let ending = SessionHeader { name: "brief".into(), ..SessionHeader::default() };
        let nothing = tokio_stream::empty::<Bytes>();
        let mut ended = connection.infer(&ending, nothing).await.expect("a stream");
        while ended.next_message::<InferResponse>().await.expect("no error").is_some() {}
    }
    let reply: Option<InferResponse> = replies.next_message().await.expect("no error");
    assert_eq!(reply.expect("a reply").id, 1);
    let waited = started.elapsed();
    assert!(waited > Duration::from_millis(500), "the batch closed after {waited:?}");
}
