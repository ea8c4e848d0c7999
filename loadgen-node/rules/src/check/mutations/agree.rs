//! Edits of one of two places that state the same fact: the system's description, what lies with the measurements, what
//! verification wrote down, the sources, and records against themselves.

use serde_json::{Value, json};

use super::{
    Row, Tree,
    tree::{HOME, SYSTEM},
};
use crate::{Rule::*, facts::files::sha256_of, result::Lengths};

const MEASUREMENTS: &str = "network/acme/measurements/two-H100-nodes/resnet50/Offline";
const ACCURACY: &str = "network/acme/results/two-H100-nodes/resnet50/Offline/accuracy/accuracy.txt";
const TEST01: &str = "network/acme/compliance/two-H100-nodes/resnet50/Offline/TEST01";
const TEST04: &str = "network/acme/compliance/two-H100-nodes/resnet50/Server/TEST04";

/// Edits a part of a field of the system's description.
fn part(tree: &Tree, name: &str, from: &str, to: &str) {
    let system: Value = serde_json::from_str(&tree.read(SYSTEM)).unwrap();
    let text = system[name].as_str().unwrap();
    assert!(text.contains(from), "{name} is {text}");
    tree.field(name, json!(text.replace(from, to)));
}

fn measurements(tree: &Tree, from: &str, to: &str) {
    tree.replace(&format!("{MEASUREMENTS}/two-H100-nodes_netdiv_Offline.json"), from, to);
}

fn readme(tree: &Tree, from: &str, to: &str) {
    tree.replace(&format!("{MEASUREMENTS}/README.md"), from, to);
}

fn user_conf(tree: &Tree, change: impl FnOnce(String) -> String) {
    let path = format!("{MEASUREMENTS}/user.conf");
    tree.write(&path, &change(tree.read(&path)));
}

pub(super) const ROWS: &[Row] = &[
    // The system's description against the machines.
    ("more processors", &[N36], |tree| tree.field("host_processors_per_node", json!("4"))),
    ("another processor", &[N36], |tree| part(tree, "host_processor_model_name", "9654", "9754")),
    ("a processor without a number", &[N36], |tree| {
        tree.field("host_processor_model_name", json!("AMD EPYC"));
    }),
    ("more cores", &[N36], |tree| tree.field("host_processor_core_count", json!(128))),
    ("a faster processor", &[N36], |tree| {
        tree.field("host_processor_frequency", json!("up to 5 GHz"));
    }),
    ("a larger cache", &[N36], |tree| part(tree, "host_processor_caches", "L2 1", "L2 2")),
    ("less memory", &[N36], |tree| tree.field("host_memory_capacity", json!("768 GB"))),
    ("more accelerators", &[N36], |tree| tree.field("accelerators_per_node", json!("8"))),
    ("accelerators of another kind", &[N36], |tree| {
        tree.field("accelerator_model_name", json!("NVIDIA H100 SXM"));
    }),
    ("accelerators with more memory", &[N36], |tree| {
        tree.field("accelerator_memory_capacity", json!("141 GB"));
    }),
    ("a slower link to the accelerators", &[N36], |tree| {
        part(tree, "accelerator_host_interconnect", "5.0", "4.0");
    }),
    ("another operating system", &[N36], |tree| {
        tree.field("operating_system", json!("Red Hat Enterprise Linux 9.4"));
    }),
    ("another framework", &[N36], |tree| part(tree, "framework", "2.11.0", "2.10.0")),
    ("another driver of the accelerators", &[N36], |tree| {
        part(tree, "other_software_stack", "550.90.07", "570.10.01");
    }),
    ("another container image", &[N36], |tree| {
        part(tree, "other_software_stack", "0d000", "0d001");
    }),
    ("more network cards", &[N6], |tree| {
        part(tree, "host_network_card_count", "1 x ConnectX-6", "8 x ConnectX-6");
    }),
    ("faster networking of the host", &[N6], |tree| part(tree, "host_networking", "100", "200")),
    ("another topology of the host", &[N6], |tree| {
        part(tree, "host_networking_topology", "leaf-1:2", "leaf-1:4");
    }),
    ("another adapter of the LoadGen node", &[N6], |tree| part(tree, "nic_loadgen", "-6", "-7")),
    ("another adapter of the nodes", &[N6], |tree| tree.field("nic_sut", json!("BCM57508"))),
    ("fewer adapters of the nodes", &[N6], |tree| part(tree, "number_nic_sut", "2 (1", "1 (1")),
    ("more adapters of the LoadGen node", &[N6], |tree| {
        tree.field("number_nic_loadgen", json!("2"));
    }),
    ("other firmware of the adapters", &[N6], |tree| {
        part(tree, "net_software_stack_sut", "22.39.1002", "22.41.1000");
    }),
    ("another driver of the adapter", &[N6], |tree| {
        part(tree, "net_software_stack_loadgen", "mlx5_core", "bnxt_en");
    }),
    ("other media than the links'", &[N6], |tree| tree.field("network_media", json!("fiber"))),
    ("a second rate, above the interfaces'", &[N6], |tree| {
        tree.field("network_rate", json!("100 Gb/s / 400 Gb/s"));
    }),
    ("another version of TLS", &[N6], |tree| part(tree, "network_protocol", "1.3", "1.2")),
    ("more streams on each connection", &[N6], |tree| {
        part(tree, "number_connections", "2 streams", "4 streams");
    }),
    // What lies with the measurements.
    ("another type of the samples", &[N35], |tree| {
        measurements(tree, "\"input_data_types\": \"uint8\"", "\"input_data_types\": \"fp32\"");
    }),
    ("no type of the samples", &[N35], |tree| {
        measurements(tree, "\"input_data_types\": \"uint8\"", "\"input_data_types\": \"JPEG\"");
    }),
    ("another type of the weights than the nodes published", &[N35], |tree| {
        tree.every_record(|record| {
            for machine in record.evidence.as_mut().unwrap().nodes.values_mut() {
                let text = "[engine]\nkind = \"plug-in\"\n[engine.model]\nprecision = \"bf16\"\n";
                machine.settings_sha256 = Some(sha256_of(text));
                machine.settings = Some(text.into());
            }
            for node in &mut record.nodes {
                let machine = &record.evidence.as_ref().unwrap().nodes[&node.name];
                node.config_sha256 = machine.settings_sha256.clone().unwrap();
            }
        });
    }),
    ("another figure in the README", &[N35], |tree| {
        readme(tree, "19990 samples/s", "29990 samples/s")
    }),
    ("another model in the README", &[N35], |tree| {
        readme(tree, "| model | resnet50,", "| model | bert,")
    }),
    ("another option in the README's command", &[N35], |tree| {
        readme(tree, "--performance-samples 1024", "--performance-samples 2048");
    }),
    ("an option more in the README's command", &[N35], |tree| {
        readme(tree, "    --streams 2", "    --encoding zstd \\\n    --streams 2");
    }),
    ("a README without the nodes", &[N35], |tree| {
        let path = format!("{MEASUREMENTS}/README.md");
        let text = tree.read(&path);
        let (before, rest) = text.split_once("## The nodes").unwrap();
        let (_, after) = rest.split_once("## The runs").unwrap();
        tree.write(&path, &format!("{before}## The runs{after}"));
    }),
    ("a user.conf without the rate", &[N2], |tree| {
        user_conf(tree, |text| text.replace("resnet50.Offline.target_qps", "# x"));
    }),
    ("a rate that is given again", &[N2], |tree| {
        user_conf(tree, |text| text + "resnet50.Offline.target_qps = 20001\n");
    }),
    ("a switch in user.conf that the run had not", &[N2], |tree| {
        user_conf(tree, |text| text + "*.*.performance_issue_same = 1\n");
    }),
    ("a line that LoadGen would misread", &[N2], |tree| {
        user_conf(tree, |text| text + "*.Offline.min_duration = 6e5\n");
    }),
    ("another rate for TEST01 than user.conf has", &[N32, N34], |tree| {
        tree.entry("Offline/TEST01", "requested_offline_expected_qps", "17000", "");
        tree.record("Offline/TEST01", |record| {
            record.test_settings.insert("offline_expected_qps".into(), "17000.000000".into());
        });
    }),
    // What verification and the official scripts wrote down.
    ("another score of TEST01", &[N34], |tree| {
        tree.replace(
            &format!("{TEST01}/verify_performance.txt"),
            "test score = 19",
            "test score = 20",
        );
    }),
    ("another score of the run that TEST04 was held against", &[N34], |tree| {
        tree.replace(
            &format!("{TEST04}/verify_performance.txt"),
            "reference score = 17",
            "reference score = 18",
        );
    }),
    ("TEST04 without its scores", &[N34], |tree| {
        tree.write(&format!("{TEST04}/verify_performance.txt"), "TEST PASS\n");
    }),
    ("TEST01 of a part of the data set", &[N34], |tree| {
        tree.replace(&format!("{TEST01}/verify_accuracy.txt"), "entries = 50000", "entries = 5000");
    }),
    ("TEST01 with other responses that passes", &[N34], |tree| {
        let path = format!("{TEST01}/verify_accuracy.txt");
        tree.replace(&path, "num_perf_log_data_mismatch = 0", "num_perf_log_data_mismatch = 7");
    }),
    ("TEST01 with more matches than entries", &[N34], |tree| {
        tree.replace(&format!("{TEST01}/verify_accuracy.txt"), "match = 4096", "match = 5096");
    }),
    ("TEST01 that passes without any count", &[N34], |tree| {
        tree.write(&format!("{TEST01}/verify_accuracy.txt"), "TEST PASS\n");
    }),
    ("more right answers behind the same accuracy", &[N2], |tree| {
        tree.replace(ACCURACY, "good=38500", "good=39500");
    }),
    ("two hashes in accuracy.txt", &[N35], |tree| {
        let text = tree.read(ACCURACY);
        tree.write(ACCURACY, &format!("hash={}\n{text}", "0".repeat(64)));
    }),
    // Sources.
    ("a source too many", &[N16], |tree| {
        tree.write(&format!("{HOME}/code/netdiv/qdl/src/cache.rs"), "//! A cache.\n");
    }),
    ("a source of another name", &[N16], |tree| {
        let from = tree.path(&format!("{HOME}/code/netdiv/qdl/src/lib.rs"));
        std::fs::rename(from, tree.path(&format!("{HOME}/code/netdiv/qdl/src/main.rs"))).unwrap();
    }),
    ("a source whose name only looks like its path", &[N16, N35], |tree| {
        let from =
            tree.path(&format!("{HOME}/code/netdiv/proto/contract/netdiv/v1/sut_node.proto"));
        let name = "proto\\contract\\netdiv\\v1\\sut_node.proto";
        std::fs::rename(from, tree.path(&format!("{HOME}/code/netdiv")).join(name)).unwrap();
        tree.remove(&format!("{HOME}/code/netdiv/proto"));
    }),
    ("a source that is no text", &[N16], |tree| {
        let path = tree.path(&format!("{HOME}/code/netdiv/qdl/src/lib.rs"));
        std::fs::write(path, b"//! \xff\n").unwrap();
    }),
    ("no REVISION", &[N16], |tree| tree.remove(&format!("{HOME}/code/netdiv/REVISION"))),
    ("code that is elsewhere", &[N35], |tree| {
        tree.write(&format!("{HOME}/code/resnet50"), "other\n");
    }),
    // Records against the settings that were given, and against themselves.
    ("a run of another scenario, by its settings", &[N32], |tree| {
        tree.given("Server/performance", "scenario", json!("offline"));
    }),
    ("a run of another benchmark, by its settings", &[N35], |tree| {
        tree.given("Server/performance", "benchmark", json!("bert-99"));
    }),
    ("a run with compression, by its settings", &[N25], |tree| {
        tree.given("Server/performance", "encoding", json!("lz4"))
    }),
    ("a run with more connections, by its settings", &[N6], |tree| {
        tree.given("Server/performance", "connections", json!(8))
    }),
    ("a run over QUIC, by its settings", &[N6], |tree| {
        tree.given("Server/performance", "transport", json!("quic"))
    }),
    ("a run against other nodes, by its settings", &[N4], |tree| {
        tree.given("Server/performance", "nodes", json!(["10.0.0.11:50051", "10.0.0.13:50051"]));
    }),
    ("a route to another machine", &[N4], |tree| {
        tree.every_record(|record| {
            let machine = &mut record.evidence.as_mut().unwrap().loadgen_node;
            machine.routes[1].peer = "10.0.0.99".into();
        });
    }),
    ("a run with a setting by hand that the record has not", &[N32], |tree| {
        tree.given("Server/performance", "setting", json!(["server_target_latency_ns=1"]));
    }),
    ("a run with checksums, by its record", &[N20], |tree| {
        tree.record("Server/performance", |record| record.checksums = true);
    }),
    ("a cluster of another name", &[N15], |tree| {
        tree.given("Server/performance", "cluster_name", json!("other"))
    }),
    ("another version of a node's program", &[N2, N24], |tree| {
        tree.every_record(|record| record.nodes[0].software_version = "0.2.0".into());
    }),
    ("another version of the LoadGen node's program", &[N24], |tree| {
        tree.record("Server/TEST01", |record| record.versions.loadgen_node = "0.2.0".into());
    }),
    ("a LoadGen of another origin", &[N3], |tree| {
        tree.record("Server/TEST01", |record| {
            record.versions.loadgen_origin = "mlcommons-loadgen 5.0.10 (equals tag v5.0)".into();
        });
    }),
    ("samples that are shorter than their tensor", &[N18], |tree| {
        tree.record("Server/performance", |record| {
            record.sample_bytes = Some(Lengths { least: 75_264, most: 75_264 });
            for node in &mut record.nodes {
                node.bytes_sent = node.sent * 75_264;
            }
        });
    }),
    ("more batches than answers", &[N21], |tree| {
        tree.record("Server/performance", |record| {
            record.nodes[0].batches.insert(64, 1000);
        });
    }),
    ("a median above the percentiles", &[N21], |tree| {
        tree.record("Server/performance", |record| record.nodes[1].stages_ns.compute.p50 = 1 << 40);
    }),
];
