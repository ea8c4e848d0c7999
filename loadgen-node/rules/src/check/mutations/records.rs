//! Edits of the records of runs, and of what the machines said in them.

use crate::result::Carrier;
use netdiv_contract::encoding::Encoding;
use netdiv_contract::v1::{Interface, Machine};
use netdiv_words::Mode;
use netdiv_words::{Scenario, Transport};

use super::{Row, Tree};
use crate::{Rule::*, facts::files::sha256_of, result::RunResult};

/// Edits the LoadGen node's machine in every record.
fn loadgen(tree: &Tree, change: impl Fn(&mut Machine)) {
    tree.every_record(|record| change(&mut record.evidence.as_mut().unwrap().loadgen_node));
}

/// Edits the machine of node-b in every record.
fn node(tree: &Tree, change: impl Fn(&mut Machine)) {
    tree.every_record(|record| {
        change(record.evidence.as_mut().unwrap().nodes.get_mut("node-b").unwrap());
    });
}

/// Edits the run with digests.
fn digests(tree: &Tree, change: impl FnOnce(&mut crate::result::Digests)) {
    tree.record("Offline/digests", |record| change(record.digests.as_mut().unwrap()));
}

/// A data set that was prepared for a benchmark.
fn prepared(benchmark: &str) -> Vec<crate::result::Prepared> {
    vec![crate::result::Prepared {
        data_set: "set.npy".into(),
        benchmark: benchmark.into(),
        subset: "validation".into(),
        samples_form: "uint8".into(),
        complete: true,
        manifest_sha256: "5ca1ab1e".into(),
    }]
}

fn loadgens(record: &RunResult) -> Machine {
    record.evidence.as_ref().unwrap().loadgen_node.clone()
}

pub(super) const ROWS: &[Row] = &[
    ("the same machine", &[N4], |tree| {
        tree.every_record(|record| {
            let id = loadgens(record).machine_id;
            record.evidence.as_mut().unwrap().nodes.get_mut("node-b").unwrap().machine_id = id;
        });
    }),
    ("a node that was lost", &[N15], |tree| {
        tree.record("Server/performance", |record| {
            record.nodes[1].lost = Some("lost node node-b: connection closed".into());
        });
    }),
    ("the same boot", &[N4], |tree| {
        tree.every_record(|record| {
            let id = loadgens(record).boot_id;
            record.evidence.as_mut().unwrap().nodes.get_mut("node-b").unwrap().boot_id = id;
        });
    }),
    ("the same board", &[N4], |tree| {
        tree.every_record(|record| {
            let serial = loadgens(record).board_serial;
            record.evidence.as_mut().unwrap().nodes.get_mut("node-b").unwrap().board_serial =
                serial;
        });
    }),
    ("the same hardware address", &[N4], |tree| {
        tree.every_record(|record| {
            let mac = loadgens(record).interfaces[0].mac.clone();
            record.evidence.as_mut().unwrap().nodes.get_mut("node-b").unwrap().interfaces[0].mac =
                mac;
        });
    }),
    ("a node on loopback, in one run", &[N4], |tree| {
        tree.record("Server/performance", |record| record.nodes[1].address = "[::1]:50051".into());
    }),
    ("a virtual interface", &[N5], |tree| {
        loadgen(tree, |machine| machine.interfaces[0].kind = "virtual".into());
    }),
    ("a node's route over loopback", &[N4, N5], |tree| {
        node(tree, |machine| {
            machine.routes[0].interface = Some("lo".into());
            machine.routes[0].local_address = Some("127.0.0.1".into());
        });
    }),
    ("traffic that the interface cannot carry", &[N6], |tree| {
        tree.record("Offline/performance", |record| record.interfaces[0].bytes_sent *= 10);
    }),
    ("an interface that is too slow", &[N6, N27], |tree| {
        loadgen(tree, |machine| machine.interfaces[0].speed_mbit_per_second = Some(1000));
    }),
    ("addresses of another family", &[N6], |tree| {
        loadgen(tree, |machine| {
            for route in &mut machine.routes {
                route.local_address = Some("2001:db8::1".into());
            }
        });
    }),
    ("another transport than the metadata's", &[N6], |tree| {
        tree.every_record(|record| record.transport = Carrier::Network(Transport::Quic));
    }),
    ("no TLS, where the metadata has it", &[N6], |tree| {
        tree.every_record(|record| record.tls = false);
    }),
    ("samples that arrived changed", &[N7], |tree| {
        digests(tree, |digests| {
            digests.samples.differences = 2;
            digests.samples.sha256 = None;
        });
    }),
    ("padding", &[N7], |tree| digests(tree, |digests| digests.bytes_issued -= 1024)),
    ("digests without a sum", &[N7], |tree| digests(tree, |digests| digests.samples.sha256 = None)),
    ("responses that were changed", &[N8], |tree| {
        digests(tree, |digests| digests.responses.differences = 1);
    }),
    ("samples that were not received", &[N10], |tree| {
        digests(tree, |digests| digests.samples.received -= 1);
    }),
    ("responses that no node sent", &[N10], |tree| {
        digests(tree, |digests| digests.responses.sent -= 1);
    }),
    ("fewer messages than samples", &[N9, N18], |tree| {
        tree.record("Server/performance", |record| {
            record.nodes[0].sent /= 2;
            record.nodes[0].acknowledged /= 2;
        });
    }),
    ("a node that counts otherwise", &[N9], |tree| {
        tree.record("Server/accuracy", |record| record.nodes[0].acknowledged -= 1);
    }),
    ("indices instead of samples", &[N18], |tree| {
        tree.record("Offline/performance", |record| {
            for node in &mut record.nodes {
                node.bytes_sent = node.sent * 8;
            }
        });
    }),
    ("an interface that carried less than was sent", &[N18], |tree| {
        tree.record("Offline/performance", |record| record.interfaces[0].bytes_sent = 1_000_000);
    }),
    ("lost samples", &[N18], |tree| {
        tree.record("Server/performance", |record| record.samples.lost = 1);
    }),
    ("an answer that no node gave", &[N18], |tree| {
        tree.record("Server/performance", |record| record.nodes[0].answered -= 1);
    }),
    ("a record of another name", &[N15], |tree| {
        tree.record("Server/performance", |record| record.sut_name = Some("other".into()));
    }),
    ("a far node", &[N14], |tree| {
        tree.record("Server/performance", |record| record.nodes[0].round_trip_ns = 1_000_000);
    }),
    ("other sources than those that ran", &[N16, N30], |tree| {
        tree.record("Server/performance", |record| {
            record.versions.sources_sha256 = "0".repeat(64);
        });
    }),
    ("other settings than those recorded", &[N20], |tree| {
        node(tree, |machine| machine.settings_sha256 = Some("0".repeat(64)));
    }),
    ("settings whose text was edited", &[N20], |tree| {
        node(tree, |machine| *machine.settings.as_mut().unwrap() += "batch_size = 1\n");
    }),
    ("settings whose text and digest were edited", &[N20], |tree| {
        node(tree, |machine| {
            let text = machine.settings.take().unwrap() + "batch_size = 1\n";
            machine.settings_sha256 = Some(sha256_of(&text));
            machine.settings = Some(text);
        });
    }),
    ("other settings for accuracy, with all their digests", &[N30], |tree| {
        tree.record("Offline/accuracy", |record| {
            let machine = record.evidence.as_mut().unwrap().nodes.get_mut("node-b").unwrap();
            let text = machine.settings.take().unwrap() + "batch_size = 1\n";
            machine.settings_sha256 = Some(sha256_of(&text));
            machine.settings = Some(text);
            let node = record.nodes.iter_mut().find(|node| node.name == "node-b").unwrap();
            node.config_sha256 = machine.settings_sha256.clone().unwrap();
        });
    }),
    ("a digest that a node did not announce", &[N20], |tree| {
        tree.every_record(|record| record.nodes[1].config_sha256 = String::new());
    }),
    ("settings of the LoadGen node that were edited in its evidence", &[N20], |tree| {
        loadgen(tree, |machine| {
            let text = machine.settings.take().unwrap().replace("50051", "50052");
            machine.settings_sha256 = Some(sha256_of(&text));
            machine.settings = Some(text);
        });
    }),
    ("settings of the LoadGen node with another digest", &[N20], |tree| {
        loadgen(tree, |machine| machine.settings_sha256 = Some("0".repeat(64)));
    }),
    ("the same adapter under a VLAN on a bond", &[N4], |tree| {
        tree.every_record(|record| {
            let mac = loadgens(record).interfaces[0].mac.clone();
            let node = record.evidence.as_mut().unwrap().nodes.get_mut("node-b").unwrap();
            node.interfaces[0].mac = mac;
            let over = |name: &str, kind: &str, below: &str| Interface {
                name: name.into(),
                kind: kind.into(),
                mac: Some("02:00:00:00:0a:0b".into()),
                speed_mbit_per_second: Some(100_000),
                mtu_bytes: Some(9000),
                up: true,
                over: vec![below.into()],
                ..Interface::default()
            };
            node.interfaces.push(over("bond0", "virtual", "ens1f0np0"));
            node.interfaces.push(over("vlan7", "ethernet", "bond0"));
            node.routes[0].interface = Some("vlan7".into());
        });
    }),
    ("settings that are not recorded", &[N20], |tree| {
        node(tree, |machine| machine.settings = None)
    }),
    ("a better figure in the record", &[N21], |tree| {
        tree.record("Server/performance", |record| {
            record.metric.as_mut().unwrap().value *= 1.01;
        });
    }),
    ("firmware that is not known", &[N22], |tree| {
        node(tree, |machine| machine.interfaces[0].firmware = None);
    }),
    ("a model that is not known", &[N22], |tree| {
        loadgen(tree, |machine| machine.interfaces[0].model = Some(" ".into()));
    }),
    ("a driver that is not known", &[N22, N24], |tree| {
        node(tree, |machine| machine.interfaces[0].driver = None);
    }),
    ("another interface than the diagram's", &[N6, N22, N23, N27], |tree| {
        node(tree, |machine| machine.routes[0].interface = Some("eno1".into()));
    }),
    ("a kernel that is not named", &[N24], |tree| node(tree, |machine| machine.kernel = None)),
    ("a framework that is not named", &[N24], |tree| {
        node(tree, |machine| machine.framework = None)
    }),
    ("an accelerator's driver that is not named", &[N24], |tree| {
        node(tree, |machine| machine.accelerators[0].driver = None);
    }),
    ("accelerators that nobody counted", &[N24], |tree| {
        node(tree, |machine| machine.accelerator_count = None);
    }),
    ("compression without approval", &[N25], |tree| {
        tree.every_record(|record| record.encoding = Encoding::Zstd);
    }),
    ("an encoding that there is not", &[N35], |tree| {
        let (known, unknown) = ("\"encoding\": \"none\"", "\"encoding\": \"jpeg-xl\"");
        tree.record_text("Offline/performance", known, unknown);
    }),
    ("two tensors for a picture", &[N26, N35], |tree| {
        tree.every_record(|record| record.input.push("label int32 []".into()));
    }),
    ("no ECC in main memory", &[N29], |tree| {
        node(tree, |machine| machine.memory_ecc = Some(false))
    }),
    ("no ECC in an accelerator", &[N29], |tree| {
        node(tree, |machine| machine.accelerators[1].ecc = Some(false));
    }),
    ("another model for accuracy", &[N30], |tree| {
        tree.record("Offline/accuracy", |record| record.nodes[0].model_sha256 = "0".repeat(64));
    }),
    ("another encoding for accuracy", &[N25, N30], |tree| {
        tree.record("Offline/accuracy", |record| record.encoding = Encoding::Lz4);
    }),
    ("another transport for TEST01", &[N6, N30], |tree| {
        tree.record("Offline/TEST01", |record| {
            record.transport = Carrier::Network(Transport::Quic)
        });
    }),
    ("a node that echoes", &[N2], |tree| {
        tree.every_record(|record| record.nodes[1].engine = "echo".into());
    }),
    ("nodes without a model", &[N2], |tree| {
        tree.every_record(|record| {
            for node in &mut record.nodes {
                node.model_sha256 = String::new();
            }
        });
    }),
    ("a record of another benchmark", &[N35], |tree| {
        tree.record("Server/performance", |record| record.benchmark = "gptj-99".into());
    }),
    ("a record of another mode", &[N32], |tree| {
        tree.record("Server/accuracy", |record| record.mode = Mode::Performance);
    }),
    ("a record of another seed", &[N31], |tree| {
        tree.record("Server/accuracy", |record| {
            record.test_settings.insert("qsl_rng_seed".into(), "7".into());
        });
    }),
    ("a record of another duration", &[N32], |tree| {
        tree.record("Server/TEST01", |record| {
            record.test_settings.insert("min_duration_ms".into(), "60000".into());
        });
    }),
    ("a record of another LoadGen", &[N3], |tree| {
        tree.record("Server/TEST04", |record| record.versions.loadgen = "5.0.10 @ 0".into());
    }),
    ("a record of another data set", &[N2], |tree| {
        tree.record("Offline/accuracy", |record| record.dataset_samples = 500);
    }),
    ("a record of a data set for another benchmark", &[N2], |tree| {
        for run in ["performance", "accuracy", "digests", "TEST01", "TEST04"] {
            tree.record(&format!("Offline/{run}"), |record| record.prepared = prepared("bert"));
        }
    }),
    ("one run with a data set of another manifest", &[N2], |tree| {
        tree.record("Offline/accuracy", |record| record.prepared = prepared("resnet50"));
    }),
    ("a record of another time for the name", &[N14], |tree| {
        tree.record("Offline/accuracy", |record| record.get_sut_name_duration_ns = Some(1));
    }),
    ("another machine of that name", &[N20], |tree| {
        tree.record("Server/performance", |record| {
            let nodes = &mut record.evidence.as_mut().unwrap().nodes;
            nodes.get_mut("node-b").unwrap().machine_id = Some("f".repeat(32));
        });
    }),
    ("digests of another benchmark", &[N35], |tree| {
        tree.record("Offline/digests", |record| record.benchmark = "gptj-99".into());
    }),
    ("digests of another scenario", &[N32], |tree| {
        tree.record("Offline/digests", |record| record.scenario = Scenario::Server);
    }),
    ("digests of a few samples", &[N7, N8, N10], |tree| {
        digests(tree, |digests| digests.samples.sent = 999);
    }),
    ("digests of one sample", &[N7, N8, N10], |tree| {
        digests(tree, |digests| digests.samples.distinct = 1);
    }),
    ("digests of the performance run", &[N35], |tree| {
        let mut logs = None;
        tree.record("Offline/performance", |record| logs = Some(record.logs.clone()));
        tree.record("Offline/digests", |record| record.logs = logs.unwrap());
    }),
    ("compressed responses without approval", &[N25], |tree| {
        tree.record("Server/performance", |record| {
            record.nodes[0].response_encodings.push(Encoding::Zstd);
        });
    }),
    ("responses in an encoding that there is not", &[N35], |tree| {
        tree.record_text("Server/performance", "        \"none\"", "        \"7\"");
    }),
    ("nodes on one machine, with one interface", &[N6, N27], |tree| {
        tree.every_record(|record| {
            let nodes = &mut record.evidence.as_mut().unwrap().nodes;
            let one = nodes["node-a"].clone();
            nodes.get_mut("node-b").unwrap().machine_id = one.machine_id;
            nodes.get_mut("node-b").unwrap().boot_id = one.boot_id;
            for node in nodes.values_mut() {
                node.interfaces[0].speed_mbit_per_second = Some(20_000);
            }
        });
    }),
];
