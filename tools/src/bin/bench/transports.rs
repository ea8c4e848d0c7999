//! Compares the QDL without LoadGen with plain sockets and with generated code. These
//! implementations are the *contenders*. Each measurement of a contender has a client in one new
//! process, `bench contend NAME BYTES`, and its peer in another, so both peaks of memory are its
//! own.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    path::Path,
    process::{self, Command, Stdio},
    thread,
    time::Duration,
};

use bytes::Bytes;
use e2e::{SutNode, process::memory_bytes};
use netdiv_qdl::{Settings, Transport};
use netdiv_transport::security::{ClientTls, TlsFiles, make_certificates};
use serde_json::json;

use crate::{
    meter::{Cost, Meter, median, mib, spread},
    qdl, raw,
    server::{Server, printed_json},
    stock,
};

/// Message sizes in bytes, with the number of samples of a run, and of a unary run. A unary call
/// costs as much as a hundred messages of a stream.
const SIZES: [(usize, usize, usize); 2] = [(150_528, 40_000, 8_000), (64, 4_000_000, 100_000)];

/// Implementation that is measured.
#[derive(Clone, Copy)]
enum Contender {
    /// Code without netdiv: the argument with which this program serves, and the client.
    Baseline(&'static str, Client),
    /// netdiv over this transport, true with TLS, and the longest UDP payload.
    Netdiv(Transport, bool, Option<u16>),
}

/// Client that sends samples to an address and waits for all replies.
type Client = fn(&Meter, &str, &[Bytes], usize) -> Result<Cost, Box<dyn Error>>;

/// Names of the contenders with which the others are compared, and of the one with unary calls.
const SOCKETS: &str = "sockets";
const STOCK_STREAM: &str = "stock-stream";
const STOCK_UNARY: &str = "stock-unary";
const GRPC_TLS: &str = "grpc-tls";

/// Name, label of the row, and implementation of each contender. Loopback allows UDP payloads of
/// 65,000 bytes, jumbo frames more than 6,550, and Ethernet 1,452.
const CONTENDERS: [(&str, &str, Contender); 8] = [
    (SOCKETS, "plain sockets", Contender::Baseline("serve-raw", raw::send)),
    (STOCK_STREAM, "stock tonic, one stream", Contender::Baseline("serve-stock", stock::stream)),
    (
        STOCK_UNARY,
        "stock tonic, unary, 64 in flight",
        Contender::Baseline("serve-stock", stock::unary),
    ),
    ("grpc", "**netdiv, gRPC**", Contender::Netdiv(Transport::Grpc, false, None)),
    (GRPC_TLS, "**netdiv, gRPC with TLS**", Contender::Netdiv(Transport::Grpc, true, None)),
    ("quic", "**netdiv, QUIC**", Contender::Netdiv(Transport::Quic, true, None)),
    (
        "quic-6550",
        "**netdiv, QUIC, datagrams of 6,550 B**",
        Contender::Netdiv(Transport::Quic, true, Some(6550)),
    ),
    (
        "quic-1452",
        "**netdiv, QUIC, datagrams of 1,452 B**",
        Contender::Netdiv(Transport::Quic, true, Some(1452)),
    ),
];

struct TransportFigures {
    samples_per_second: f64,
    cpu_us_per_sample: f64,
    client_mib: f64,
    peer_mib: f64,
}

/// Returns both tables, and iperf3's result if it is installed.
pub fn tables(runs: usize) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for (bytes, ..) in SIZES {
        let mut rounds = Vec::new();
        for run in 1..=runs {
            eprintln!("transports at {bytes} B, round {run} of {runs}");
            let round = CONTENDERS.map(|(name, ..)| measure(name, bytes));
            rounds.push(round.into_iter().collect::<Result<Vec<_>, _>>()?);
        }
        table(&mut text, bytes, &rounds)?;
    }
    if let Some(rate) = iperf3() {
        writeln!(text, "`iperf3`, one stream of 3 s: {:.2} GB/s.\n", rate / 8e9)?;
    }
    Ok(text)
}

/// Measures a contender in a new process.
fn measure(name: &str, bytes: usize) -> Result<TransportFigures, Box<dyn Error>> {
    let mut contender = Command::new(env::current_exe()?);
    let line = printed_json(contender.args(["contend", name, &bytes.to_string()]))?;
    let [samples_per_second, cpu_us_per_sample, client_mib, peer_mib]: [f64; 4] =
        serde_json::from_value(line)?;
    Ok(TransportFigures { samples_per_second, cpu_us_per_sample, client_mib, peer_mib })
}

/// Measures the contender and the message size in `args`. Prints samples per second, microseconds
/// of processor time for each sample, and the peak resident memory of client and peer in MiB.
pub fn print_contender(args: &[String]) -> Result<(), Box<dyn Error>> {
    let usage = || {
        let names = CONTENDERS.map(|(name, ..)| name).join(", ");
        let sizes = SIZES.map(|(bytes, ..)| bytes.to_string()).join(", ");
        format!("usage: bench contend NAME BYTES; NAME is one of {names}; BYTES is one of {sizes}")
    };
    let [name, bytes] = args else { return Err(usage().into()) };
    let of_name = CONTENDERS.into_iter().find(|contender| contender.0 == name);
    let of_size = SIZES.into_iter().find(|size| size.0.to_string() == *bytes);
    let (_, _, contender) = of_name.ok_or_else(usage)?;
    let (bytes, in_stream, unary) = of_size.ok_or_else(usage)?;
    let samples = if name == STOCK_UNARY { unary } else { in_stream };
    let payloads = qdl::payloads(bytes);
    let peak_mib = |process| {
        let bytes = memory_bytes(process, "VmHWM").ok_or("a process has ended")?;
        Ok::<_, &str>(mib(bytes as f64))
    };
    let folder = tempfile::tempdir()?;
    let (cost, peer_mib) = match contender {
        Contender::Baseline(server, client) => {
            let server = Server::start(&[server])?;
            let meter = Meter::with([server.id()]);
            let cost = client(&meter, &server.address, &payloads, samples)?;
            (cost, peak_mib(server.id())?)
        }
        Contender::Netdiv(transport, with_tls, quic_mtu) => {
            let (node, tls) = node(with_tls.then_some(folder.path()))?;
            let mut settings = Settings::new(vec![node.address.clone()]);
            settings.network.options.transport = transport;
            settings.network.options.tls = tls;
            settings.network.options.quic_mtu = quic_mtu;
            let cost = qdl::send(&Meter::with([node.id()]), settings, &payloads, samples)?;
            (cost, peak_mib(node.id())?)
        }
    };
    let (rate, cpu) = (samples as f64 / cost.seconds, cost.cpu_seconds * 1e6 / samples as f64);
    println!("{}", json!([rate, cpu, peak_mib(process::id())?, peer_mib]));
    Ok(())
}

/// Starts a node, with TLS if there is a folder for its certificate. Returns the settings of a
/// client that trusts the certificate.
fn node(certificates: Option<&Path>) -> Result<(SutNode, Option<ClientTls>), Box<dyn Error>> {
    let engine = ["--engine", "none"];
    let Some(folder) = certificates else {
        return Ok((SutNode::start("plain", &engine), None));
    };
    make_certificates(folder, &["127.0.0.1".to_owned()])?;
    let file = |name: &str| folder.join(name);
    let paths = ["127.0.0.1.pem", "127.0.0.1.key"].map(|name| file(name).display().to_string());
    let options = ["--tls-certificate", &paths[0], "--tls-key", &paths[1]];
    let files = TlsFiles { ca: Some(file("ca.pem")), ..TlsFiles::default() };
    let tls = ClientTls::load(&files)?;
    Ok((SutNode::start("tls", &[&engine[..], &options].concat()), Some(tls)))
}

fn table(text: &mut String, bytes: usize, rounds: &[Vec<TransportFigures>]) -> std::fmt::Result {
    writeln!(
        text,
        "| {bytes} B, without LoadGen | thousand samples/s | GB/s | CPU per sample, both ends | ratio to plain sockets | \
         ratio to a stock stream | ratio to gRPC with TLS | peak memory, client with all payloads / peer \
         |\n|---|---|---|---|---|---|---|---|"
    )?;
    let place = |wanted: &str| CONTENDERS.iter().position(|(name, ..)| *name == wanted);
    for (column, (_, label, _)) in CONTENDERS.iter().enumerate() {
        let rate = |round: &Vec<TransportFigures>| round[column].samples_per_second;
        let of = |pick: fn(&TransportFigures) -> f64| {
            median(rounds.iter().map(|round| pick(&round[column])))
        };
        let ratio = |to: &str| {
            let to = place(to).unwrap_or_default();
            median(rounds.iter().map(|round| rate(round) / round[to].samples_per_second))
        };
        let thousands: Vec<_> = rounds.iter().map(|round| rate(round) / 1e3).collect();
        writeln!(
            text,
            "| {label} | {} | {:.2} | {:.2} µs | {:.2} | {:.2} | {:.2} | {:.0} / {:.0} MiB |",
            spread(thousands.iter().copied(), 1),
            median(thousands.iter().copied()) * 1e3 * bytes as f64 / 1e9,
            of(|figures| figures.cpu_us_per_sample),
            ratio(SOCKETS),
            ratio(STOCK_STREAM),
            ratio(GRPC_TLS),
            of(|figures| figures.client_mib),
            of(|figures| figures.peer_mib),
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
