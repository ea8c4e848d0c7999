//! Faults of the network between the LoadGen node and a node.

use std::{thread, time::Duration};

use e2e::{Direction, Faults, process::transport};

use super::{
    credentials::Credentials,
    fault::{ExpectedEnd, Fault, RunKind, silence_reason},
    stage::Stage,
};

const MS: Duration = Duration::from_millis(1);

pub fn faults(papers: &Credentials) -> Vec<Fault> {
    let lost = "lost node struck: ";
    let breaks = |name: &str, inject: fn(&mut Stage)| Fault::fails(name, lost, inject).wired();
    let silences =
        |name: &str, inject| breaks(name, inject).expect(ExpectedEnd::Failed(silence_reason()));
    let over_tcp = |fault: Fault, words| match transport() {
        "quic" => fault.expect(ExpectedEnd::Failed(silence_reason())),
        _ => fault.expect(ExpectedEnd::Failed(words)),
    };
    let passes = |name: &str, inject: fn(&mut Stage)| Fault::harmless(name, inject).wired();
    let mut faults = vec![
        silences("network cut both ways, Offline", |stage| stage.wire().set(Faults::cut())),
        silences("network cut both ways, Server", |stage| stage.wire().set(Faults::cut()))
            .scenario("server"),
        silences("network cut both ways, SingleStream", |stage| stage.wire().set(Faults::cut()))
            .scenario("single-stream"),
        silences("half open: responses are lost", |stage| {
            stage.wire().set_one_way(Direction::ToClient, Faults::cut());
        }),
        silences("half open: samples are lost", |stage| {
            stage.wire().set_one_way(Direction::ToNode, Faults::cut());
        }),
        passes("network cut for 1 s", |stage| {
            stage.wire().set(Faults::cut());
            thread::sleep(1000 * MS);
            stage.wire().set(Faults::none());
        }),
        over_tcp(
            breaks("connection reset (TCP RST; UDP: silence)", |stage| stage.wire().reset()),
            "lost node struck: Connection reset by peer",
        ),
        over_tcp(
            breaks("connection closed (TCP FIN; UDP: silence)", |stage| stage.wire().close()),
            "lost node struck: it closed the connection.",
        ),
        breaks("response cut in its middle, then closed", |stage| {
            let faults = Faults { truncate_at: Some(1001), ..Faults::none() };
            stage.wire().set_one_way(Direction::ToClient, faults);
        }),
        breaks("sample cut in its middle, then closed", |stage| {
            let faults = Faults { truncate_at: Some(1001), ..Faults::none() };
            stage.wire().set_one_way(Direction::ToNode, faults);
        }),
        passes("50 ms of delay each way, and up to 10 ms of jitter", |stage| {
            stage.wire().set(Faults { delay: 50 * MS, jitter: 10 * MS, ..Faults::none() });
        }),
        passes("slow link: 150 kB/s each way, half of the node's rate", |stage| {
            stage.wire().set(Faults { bytes_per_second: Some(150_000), ..Faults::none() });
        }),
        passes("slow link: samples in flight take longer than --control-timeout", |stage| {
            stage.wire().set(Faults { bytes_per_second: Some(50_000), ..Faults::none() });
        })
        .more_node_args(&["--max-in-flight-samples", "1000"])
        .args(&["--control-timeout", "1s"]),
        // 131 bytes for each sample: less than half of the requested rate fits.
        passes("slow link: less than Server's rate", |stage| {
            stage.wire().set(Faults { bytes_per_second: Some(50_000), ..Faults::none() });
        })
        .scenario("server")
        .run(RunKind::Performance(2, 1000))
        .expect(ExpectedEnd::Finding("LoadGen calls the result INVALID")),
        passes("1 % loss each way", |stage| {
            stage.wire().set(Faults { loss: 0.01, ..Faults::none() });
        }),
        passes("10 % loss of samples", |stage| {
            let faults = Faults { loss: 0.1, ..Faults::none() };
            stage.wire().set_one_way(Direction::ToNode, faults);
        }),
        passes("10 % loss of responses", |stage| {
            let faults = Faults { loss: 0.1, ..Faults::none() };
            stage.wire().set_one_way(Direction::ToClient, faults);
        }),
    ];
    if transport() == "quic" {
        faults.extend([
            passes("a tenth of the datagrams duplicated, a tenth out of order", |stage| {
                stage.wire().set(Faults { duplicate: 0.1, reorder: 0.1, ..Faults::none() });
            }),
            passes("a bit is flipped in every tenth datagram", |stage| {
                stage.wire().set(Faults { flip_every: Some(10), ..Faults::none() });
            }),
        ]);
    } else {
        // In plaintext an unchecked byte arrives changed; TLS detects it.
        let ours = &papers.ours;
        faults.push(
            Fault::fails("a bit is flipped in a sample, with TLS", lost, |stage| {
                let faults = Faults { flip_at: Some(2000), ..Faults::none() };
                stage.wire().set_one_way(Direction::ToNode, faults);
            })
            .more_node_args(&["--tls-certificate", ours.certificate, "--tls-key", ours.key])
            .papers(&["--tls-ca", ours.authority])
            .alone()
            .wired(),
        );
        let found = |name: &str, inject: fn(&mut Stage)| {
            Fault::fails(name, "node struck", inject).args(&["--checksums"]).alone().wired()
        };
        faults.push(found("bits are flipped in samples, with --checksums", |stage| {
            stage
                .wire()
                .set_one_way(Direction::ToNode, Faults { flip_every: Some(5), ..Faults::none() });
        }));
        faults.push(found("bits are flipped in responses, with --checksums", |stage| {
            stage
                .wire()
                .set_one_way(Direction::ToClient, Faults { flip_every: Some(5), ..Faults::none() });
        }));
    }
    faults
}
