//! Compares the QDL without LoadGen with plain sockets and with generated code. These
//! implementations are the *contenders*. Each contender runs in one process, and its peer in
//! another.

use std::{
    error::Error,
    fmt::Write as _,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use e2e::SutNode;
use netdiv_qdl::{Settings, Transport};
use netdiv_transport::security::{ClientTls, TlsFiles, make_certificates};

use crate::{
    meter::{Meter, median, spread},
    qdl, raw,
    server::Server,
    stock,
};

/// Message sizes in bytes, with the number of samples of a run.
const SIZES: [(usize, usize); 2] = [(150_528, 40_000), (64, 4_000_000)];

/// Number of samples of a unary run, by message size. A unary call costs as much as a hundred
/// messages of a stream.
const UNARY_SAMPLES: [usize; 2] = [8_000, 100_000];

/// Longest UDP payload of Ethernet; loopback allows 65,000.
const ETHERNET_MTU: u16 = 1452;

/// Implementation that is measured, with its transport.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    Raw,
    StockStream,
    StockUnary,
    Grpc,
    GrpcTls,
    Quic,
    QuicEthernet,
}

const CONTENDERS: [(Contender, &str); 7] = [
    (Contender::Raw, "plain sockets"),
    (Contender::StockStream, "stock tonic, one stream"),
    (Contender::StockUnary, "stock tonic, unary, 64 in flight"),
    (Contender::Grpc, "**netdiv, gRPC**"),
    (Contender::GrpcTls, "**netdiv, gRPC with TLS**"),
    (Contender::Quic, "**netdiv, QUIC**"),
    (Contender::QuicEthernet, "**netdiv, QUIC, datagrams of 1,452 B**"),
];

#[derive(Clone, Copy)]
struct TransportFigures {
    samples_per_second: f64,
    cpu_us_per_sample: f64,
}

struct Bench {
    raw: Server,
    stock: Server,
    node: SutNode,
    tls_node: SutNode,
    tls: ClientTls,
}

/// Returns both tables, and iperf3's result if it is installed.
pub fn tables(runs: usize) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    make_certificates(folder.path(), &["127.0.0.1".to_owned()])?;
    let file = |name: &str| folder.path().join(name);
    let paths = ["127.0.0.1.pem", "127.0.0.1.key"].map(|name| file(name).display().to_string());
    let node = ["--engine", "none"];
    let with_tls = ["--tls-certificate", &paths[0], "--tls-key", &paths[1]];
    let files = TlsFiles { ca: Some(file("ca.pem")), ..TlsFiles::default() };
    let bench = Bench {
        raw: Server::start(&["serve-raw"])?,
        stock: Server::start(&["serve-stock"])?,
        node: SutNode::start("plain", &node),
        tls_node: SutNode::start("tls", &[&node[..], &with_tls].concat()),
        tls: ClientTls::load(&files)?,
    };
    let mut text = String::new();
    for (place, (bytes, samples)) in SIZES.into_iter().enumerate() {
        let mut rounds = Vec::new();
        for run in 1..=runs {
            eprintln!("transports at {bytes} B, round {run} of {runs}");
            let round = CONTENDERS.map(|(contender, _)| {
                let unary = contender == Contender::StockUnary;
                let samples = if unary { UNARY_SAMPLES[place] } else { samples };
                bench.measure(contender, bytes, samples)
            });
            rounds.push(round.into_iter().collect::<Result<Vec<_>, _>>()?);
        }
        table(&mut text, bytes, &rounds)?;
    }
    if let Some(rate) = iperf3() {
        writeln!(text, "`iperf3`, one stream of 3 s: {:.2} GB/s.\n", rate / 8e9)?;
    }
    Ok(text)
}

impl Bench {
    fn measure(
        &self,
        contender: Contender,
        bytes: usize,
        samples: usize,
    ) -> Result<TransportFigures, Box<dyn Error>> {
        let payloads = qdl::payloads(bytes);
        let nodes = [self.node.id(), self.tls_node.id()];
        let meter = Meter::with([self.raw.id(), self.stock.id()].into_iter().chain(nodes));
        let settings = |node: &SutNode, transport, tls, mtu| {
            let mut settings = Settings::new(vec![node.address.clone()]);
            settings.network.options.transport = transport;
            settings.network.options.tls = tls;
            settings.network.options.quic_mtu = mtu;
            settings
        };
        let tls = Some(self.tls.clone());
        let ours = |settings| qdl::send(&meter, settings, &payloads, samples);
        let (raw, stock) = (&self.raw.address, &self.stock.address);
        let cost = match contender {
            Contender::Raw => raw::send(&meter, raw, &payloads, samples),
            Contender::StockStream => stock::stream(&meter, stock, &payloads, samples),
            Contender::StockUnary => stock::unary(&meter, stock, &payloads, samples),
            Contender::Grpc => ours(settings(&self.node, Transport::Grpc, None, None)),
            Contender::GrpcTls => ours(settings(&self.tls_node, Transport::Grpc, tls, None)),
            Contender::Quic => ours(settings(&self.tls_node, Transport::Quic, tls, None)),
            Contender::QuicEthernet => {
                ours(settings(&self.tls_node, Transport::Quic, tls, Some(ETHERNET_MTU)))
            }
        }?;
        Ok(TransportFigures {
            samples_per_second: samples as f64 / cost.seconds,
            cpu_us_per_sample: cost.cpu_seconds * 1e6 / samples as f64,
        })
    }
}

fn table(text: &mut String, bytes: usize, rounds: &[Vec<TransportFigures>]) -> std::fmt::Result {
    writeln!(
        text,
        "| {bytes} B, without LoadGen | thousand samples/s | GB/s | CPU per sample, both ends | ratio to plain sockets | \
         ratio to a stock stream | ratio to gRPC with TLS |\n|---|---|---|---|---|---|---|"
    )?;
    let place = |wanted| CONTENDERS.iter().position(|(contender, _)| *contender == wanted);
    for (column, (_, name)) in CONTENDERS.iter().enumerate() {
        let rate = |round: &Vec<TransportFigures>| round[column].samples_per_second;
        let ratio = |to: Contender| {
            let to = place(to).unwrap_or_default();
            median(rounds.iter().map(|round| rate(round) / round[to].samples_per_second))
        };
        let thousands: Vec<_> = rounds.iter().map(|round| rate(round) / 1e3).collect();
        writeln!(
            text,
            "| {name} | {} | {:.2} | {:.2} µs | {:.2} | {:.2} | {:.2} |",
            spread(thousands.iter().copied(), 1),
            median(thousands.iter().copied()) * 1e3 * bytes as f64 / 1e9,
            median(rounds.iter().map(|round| round[column].cpu_us_per_sample)),
            ratio(Contender::Raw),
            ratio(Contender::StockStream),
            ratio(Contender::GrpcTls),
        )?;
    }
    writeln!(text)
}

/// Returns the bits per second of one TCP stream; `None` if iperf3 is not installed.
fn iperf3() -> Option<f64> {
    let mut server = Command::new("iperf3")
        .args(["-s", "-1", "-p", "50999"])
        .stdout(Stdio::null())
        .spawn()
        .ok()?;
    thread::sleep(Duration::from_millis(500));
    let client = ["-c", "127.0.0.1", "-p", "50999", "-t", "3", "-J"];
    let output = Command::new("iperf3").args(client).output().ok();
    let _ = server.kill();
    let _ = server.wait();
    let report: serde_json::Value = serde_json::from_slice(&output?.stdout).ok()?;
    report["end"]["sum_received"]["bits_per_second"].as_f64()
}
