//! Faults of the network between the LoadGen node and a node.

use std::{thread, time::Duration};

use e2e::{Direction, Faults, process::transport};

use super::{
    credentials::Credentials,
    fault::{ExpectedEnd, Fault, RunKind, silence_reason},
    stage::Stage,
};

const MS: Duration = Duration::from_millis(1);

/// Directions of the wire that have a fault.
type Ways = &'static [Direction];

const BOTH: Ways = &[Direction::ToNode, Direction::ToClient];
const SAMPLES: Ways = &[Direction::ToNode];
const RESPONSES: Ways = &[Direction::ToClient];

fn on_wire(ways: Ways, faults: Faults) -> impl Fn(&mut Stage) + Send + Sync + 'static {
    move |stage: &mut Stage| ways.iter().for_each(|way| stage.wire().set_one_way(*way, faults))
}

pub fn faults(papers: &Credentials) -> Vec<Fault> {
    let lost = "lost node struck: ";
    let breaks = |name: &str, ways, faults| Fault::fails(name, lost, on_wire(ways, faults)).wired();
    let silences = |name: &str, ways| {
        breaks(name, ways, Faults::cut()).expect(ExpectedEnd::Failed(silence_reason()))
    };
    let ends = |name: &str, words, inject: fn(&mut Stage)| {
        let words = if transport() == "quic" { silence_reason() } else { words };
        Fault::fails(name, words, inject).wired()
    };
    let passes = |name: &str, ways, faults| Fault::harmless(name, on_wire(ways, faults)).wired();
    let good = Faults::none();
    let slow = |rate| Faults { bytes_per_second: Some(rate), ..good };
    let mut faults = vec![
        silences("network cut both ways, Offline", BOTH),
        silences("network cut both ways, Server", BOTH).scenario("server"),
        silences("network cut both ways, SingleStream", BOTH).scenario("single-stream"),
        silences("half open: responses are lost", RESPONSES),
        silences("half open: samples are lost", SAMPLES),
        Fault::harmless("network cut for 1 s", |stage| {
            stage.wire().set(Faults::cut());
            thread::sleep(1000 * MS);
            stage.wire().set(Faults::none());
        })
        .wired(),
        ends(
            "connection reset (TCP RST; UDP: silence)",
            "lost node struck: Connection reset by peer",
            |stage| stage.wire().reset(),
        ),
        ends(
            "connection closed (TCP FIN; UDP: silence)",
            "lost node struck: it closed the connection.",
            |stage| stage.wire().close(),
        ),
        breaks(
            "response cut in its middle, then closed",
            RESPONSES,
            Faults { truncate_at: Some(1001), ..good },
        ),
        breaks(
            "sample cut in its middle, then closed",
            SAMPLES,
            Faults { truncate_at: Some(1001), ..good },
        ),
        passes(
            "50 ms of delay each way, and up to 10 ms of jitter",
            BOTH,
            Faults { delay: 50 * MS, jitter: 10 * MS, ..good },
        ),
        passes("slow link: 150 kB/s each way, half of the node's rate", BOTH, slow(150_000)),
        passes(
            "slow link: samples in flight take longer than --control-timeout",
            BOTH,
            slow(50_000),
        )
        .more_node_args(&["--max-in-flight-samples", "1000"])
        .args(&["--control-timeout", "1s"]),
        // 131 bytes for each sample: less than half of the requested rate fits.
        passes("slow link: less than Server's rate", BOTH, slow(50_000))
            .scenario("server")
            .run(RunKind::Performance(2, 1000))
            .expect(ExpectedEnd::Finding("LoadGen calls the result INVALID")),
        passes("1 % loss each way", BOTH, Faults { loss: 0.01, ..good }),
        passes("10 % loss of samples", SAMPLES, Faults { loss: 0.1, ..good }),
        passes("10 % loss of responses", RESPONSES, Faults { loss: 0.1, ..good }),
    ];
    if transport() == "quic" {
        faults.extend([
            passes(
                "a tenth of the datagrams duplicated, a tenth out of order",
                BOTH,
                Faults { duplicate: 0.1, reorder: 0.1, ..good },
            ),
            passes(
                "a bit is flipped in every tenth datagram",
                BOTH,
                Faults { flip_every: Some(10), ..good },
            ),
        ]);
    } else {
        // In plaintext an unchecked byte arrives changed; TLS detects it.
        let ours = &papers.ours;
        let found = |name: &str, ways| {
            let flips = on_wire(ways, Faults { flip_every: Some(5), ..good });
            Fault::fails(name, "node struck", flips).args(&["--checksums"]).alone().wired()
        };
        faults.extend([
            breaks(
                "a bit is flipped in a sample, with TLS",
                SAMPLES,
                Faults { flip_at: Some(2000), ..good },
            )
            .more_node_args(&["--tls-certificate", ours.certificate, "--tls-key", ours.key])
            .papers(&["--tls-ca", ours.authority])
            .alone(),
            found("bits are flipped in samples, with --checksums", SAMPLES),
            found("bits are flipped in responses, with --checksums", RESPONSES),
        ]);
    }
    faults
}
