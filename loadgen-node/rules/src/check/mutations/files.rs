//! Edits of all other files: names, documents, the system's description, what verification wrote down.

use std::fs;

use serde_json::{Value, json};

use super::{
    Row,
    tree::{HOME, SYSTEM},
};
use crate::{
    Rule::*,
    tree::{ACCURACY_LOG, DETAIL},
};

const ACCURACY: &str = "network/acme/results/two-H100-nodes/resnet50/Offline/accuracy";
const MEASUREMENTS: &str = "network/acme/measurements/two-H100-nodes/resnet50/Offline";
const TEST01: &str = "network/acme/compliance/two-H100-nodes/resnet50/Offline/TEST01";
const TEST04: &str = "network/acme/compliance/two-H100-nodes/resnet50/Offline/TEST04";
const DOCUMENTS: &str = "network/acme/documentation";

pub(super) const ROWS: &[Row] = &[
    // Names and sizes.
    ("a file too many in run_1", &[N35], |tree| {
        tree.write(&format!("{}/notes.txt", tree.folder("Offline/performance")), "x");
    }),
    ("a file too many beside accuracy.txt", &[N35], |tree| {
        tree.write(&format!("{ACCURACY}/notes.txt"), "x");
    }),
    ("a second run", &[N35], |tree| {
        let second = tree.folder("Offline/performance").replace("run_1", "run_2");
        tree.write(&format!("{second}/{DETAIL}"), "x");
    }),
    ("a space in a name", &[N35], |tree| tree.write(&format!("{HOME}/code/my notes.md"), "x")),
    ("a dot before a name", &[N35], |tree| tree.write(&format!("{HOME}/code/.keep"), "x")),
    ("an empty folder", &[N35], |tree| {
        fs::create_dir(tree.path(&format!("{HOME}/empty"))).unwrap();
    }),
    ("an empty file", &[N35], |tree| tree.write(&format!("{HOME}/code/empty.md"), "")),
    ("Python's cache", &[N35], |tree| {
        tree.write(&format!("{HOME}/code/__pycache__/x.pyc"), "x");
    }),
    ("a broken link", &[N35], |tree| {
        std::os::unix::fs::symlink("nowhere", tree.path(&format!("{HOME}/link"))).unwrap();
    }),
    ("a link that leads somewhere", &[N35], |tree| {
        std::os::unix::fs::symlink("systems", tree.path(&format!("{HOME}/link"))).unwrap();
    }),
    ("a file of 51 MB", &[N35], |tree| {
        let file = fs::File::create(tree.path(&format!("{HOME}/code/large.bin"))).unwrap();
        file.set_len(51 << 20).unwrap();
    }),
    ("a file in the root", &[N35], |tree| tree.write("notes.txt", "x")),
    ("a folder in the root", &[N35], |tree| tree.write("netwrok/x.md", "x")),
    ("a file in the division", &[N35], |tree| tree.write("network/notes.md", "x")),
    // Contents.
    ("no hash in accuracy.txt", &[N35], |tree| {
        tree.replace(&format!("{ACCURACY}/accuracy.txt"), "hash=", "sum=");
    }),
    ("another hash in accuracy.txt", &[N35], |tree| {
        let path = format!("{ACCURACY}/accuracy.txt");
        let text = tree.read(&path);
        let (before, _) = text.split_once("hash=").unwrap();
        tree.write(&path, &format!("{before}hash={}\n", "0".repeat(64)));
    }),
    ("an accuracy log that is not truncated", &[N35], |tree| {
        let path = format!("{ACCURACY}/{ACCURACY_LOG}");
        let text = tree.read(&path);
        tree.write(&path, &text.repeat(2));
    }),
    ("a detail log edited after the run", &[N35], |tree| {
        let path = format!("{}/{DETAIL}", tree.folder("Server/performance"));
        tree.replace(&path, "\"pid\": 4711", "\"pid\": 4712");
    }),
    ("no user.conf", &[N35], |tree| tree.remove(&format!("{MEASUREMENTS}/user.conf"))),
    ("a user.conf of another run", &[N2], |tree| {
        let path = format!("{MEASUREMENTS}/user.conf");
        tree.replace(&path, "resnet50.Offline.target_qps = ", "resnet50.Offline.target_qps = 1");
    }),
    ("an empty README.md", &[N35], |tree| tree.write(&format!("{MEASUREMENTS}/README.md"), "")),
    ("no weight_transformations", &[N35], |tree| {
        let path = format!("{MEASUREMENTS}/two-H100-nodes_netdiv_Offline.json");
        tree.replace(&path, "\"weight_transformations\"", "\"weight\"");
    }),
    ("no measurements file", &[N35], |tree| {
        tree.remove(&format!("{MEASUREMENTS}/two-H100-nodes_netdiv_Offline.json"));
    }),
    ("a record that is no JSON", &[N35], |tree| {
        tree.write(&format!("{MEASUREMENTS}/digests.result.json"), "{");
    }),
    ("no code of the benchmark", &[N35], |tree| tree.remove(&format!("{HOME}/code/resnet50"))),
    ("a system without results", &[N35], |tree| {
        tree.write(&format!("{HOME}/systems/other.json"), "{}");
    }),
    // The Closed division's rules.
    ("no calibration.md", &[N2], |tree| tree.remove(&format!("{DOCUMENTS}/calibration.md"))),
    ("accuracy below the target", &[N2], |tree| {
        tree.replace(&format!("{ACCURACY}/accuracy.txt"), "accuracy=77", "accuracy=75");
    }),
    ("accuracy that is not there", &[N2], |tree| {
        tree.replace(&format!("{ACCURACY}/accuracy.txt"), "accuracy=", "top1=");
    }),
    ("an edge system, too", &[N1], |tree| tree.field("system_type", json!("datacenter,edge"))),
    // The evidence of the LoadGen node, with its settings, is that of the Offline run.
    ("only one scenario", &[N22, N32], |tree| {
        for part in ["results", "measurements", "compliance"] {
            tree.remove(&format!("{HOME}/{part}/two-H100-nodes/resnet50/Offline"));
        }
    }),
    ("no results", &[N35], |tree| tree.remove(&format!("{HOME}/results"))),
    // Sources and documents.
    ("edited sources", &[N16], |tree| {
        tree.replace(&format!("{HOME}/code/netdiv/qdl/src/lib.rs"), "Query", "query");
    }),
    ("no sources", &[N16], |tree| tree.remove(&format!("{HOME}/code/netdiv"))),
    ("another REVISION", &[N16], |tree| {
        tree.write(&format!("{HOME}/code/netdiv/REVISION"), &"0".repeat(64));
    }),
    ("no description of the wire", &[N17], |tree| {
        tree.remove(&format!("{DOCUMENTS}/wire-protocol.md"));
    }),
    ("a field of the wire that is not described", &[N17], |tree| {
        tree.replace(&format!("{DOCUMENTS}/wire-protocol.md"), "decoded_bytes", "length");
    }),
    ("a machine shown as it was not", &[N22], |tree| {
        tree.replace(&format!("{DOCUMENTS}/evidence/node-b.json"), "22.39.1002", "22.40.1000");
    }),
    ("a switch that is not described", &[N22], |tree| {
        let path = format!("{DOCUMENTS}/system-diagram.md");
        let text = tree.read(&path);
        let lines = text.lines().filter(|line| !line.starts_with("| leaf-1 |"));
        tree.write(&path, &lines.collect::<Vec<_>>().join("\n"));
    }),
    ("no diagram", &[N23], |tree| tree.remove(&format!("{DOCUMENTS}/system-diagram.svg"))),
    ("a diagram without a node", &[N23], |tree| {
        tree.replace(&format!("{DOCUMENTS}/system-diagram.svg"), "node-b", "node-x");
    }),
    ("a diagram without the switch", &[N23], |tree| {
        tree.replace(&format!("{DOCUMENTS}/system-diagram.svg"), "leaf-1", "leaf");
    }),
    ("a diagram without its text", &[N22, N23], |tree| {
        tree.remove(&format!("{DOCUMENTS}/system-diagram.md"));
    }),
    ("no report on the bandwidth", &[N27], |tree| {
        tree.remove(&format!("{DOCUMENTS}/bandwidth.md"));
    }),
    ("no architecture", &[N28], |tree| {
        tree.remove(&format!("{DOCUMENTS}/system-architecture.md"));
    }),
    ("a tree made as a rehearsal", &[], |tree| {
        tree.write(&format!("{DOCUMENTS}/REHEARSAL.md"), "Do not submit this.");
    }),
    // The system's description.
    ("a bus as the network", &[N5], |tree| {
        tree.field("network_type", json!("PCIe Gen5 over cable"))
    }),
    ("a network that is none", &[N5], |tree| tree.field("network_type", json!("fast"))),
    ("InfiniBand, where Ethernet was used", &[N5], |tree| {
        tree.field("network_type", json!("InfiniBand"));
    }),
    ("a network field to be written", &[N6], |tree| tree.field("network_media", json!("TODO"))),
    ("a rate below the traffic", &[N6], |tree| tree.field("network_rate", json!("10 Gb/s"))),
    ("a rate above the interfaces'", &[N6], |tree| tree.field("network_rate", json!("400 Gb/s"))),
    ("a rate that says nothing", &[N6], |tree| tree.field("network_rate", json!("fast"))),
    ("IPv6, where IPv4 was used", &[N6], |tree| {
        let text = "gRPC over HTTP/2 over TLS 1.3 over TCP over IPv6";
        tree.field("network_protocol", json!(text));
    }),
    ("fewer connections than there were", &[N6], |tree| {
        tree.field("number_connections", json!("2"));
    }),
    ("a link that is not named", &[N6, N23], |tree| {
        tree.field(
            "network_topology",
            json!("loadgen:ens1f0np0 <-> leaf-1:1 (copper DAC, 100 Gb/s)"),
        );
    }),
    ("is_network as a boolean", &[N36], |tree| tree.field("is_network", json!(true))),
    ("is_network False", &[N36], |tree| tree.field("is_network", json!("False"))),
    ("an empty network field", &[N6, N36], |tree| tree.field("nic_sut", json!(""))),
    ("a field that must not be empty", &[N36], |tree| tree.field("cooling", json!(""))),
    ("a number of 0", &[N36], |tree| tree.field("accelerators_per_node", json!(0))),
    ("nodes that cannot be counted", &[N15, N36], |tree| {
        tree.field("number_of_nodes", json!("(8,4)"));
    }),
    ("more nodes than there were", &[N15], |tree| tree.field("number_of_nodes", json!("3"))),
    ("a missing field", &[N36], |tree| {
        tree.replace(SYSTEM, "\"accelerator_on-chip_memories\"", "\"on-chip\"");
    }),
    ("another submitter", &[N36], |tree| tree.field("submitter", json!("other"))),
    ("another division", &[N36], |tree| tree.field("division", json!("closed"))),
    ("no such status", &[N36], |tree| tree.field("status", json!("soon"))),
    ("a null", &[N36], |tree| tree.field("framework", Value::Null)),
    ("a description that is no JSON", &[N36], |tree| tree.write(SYSTEM, "{")),
    // Compliance tests.
    ("no TEST01", &[N34], |tree| tree.remove(TEST01)),
    ("no TEST04", &[N34], |tree| tree.remove(TEST04)),
    ("TEST01 with other responses", &[N30, N34], |tree| {
        tree.replace(&format!("{TEST01}/verify_accuracy.txt"), "TEST PASS", "TEST FAIL");
    }),
    ("TEST01 too slow, as written down", &[N34], |tree| {
        tree.replace(&format!("{TEST01}/verify_performance.txt"), "TEST PASS", "TEST FAIL");
    }),
    ("TEST04 too fast, as written down", &[N34], |tree| {
        tree.replace(&format!("{TEST04}/verify_performance.txt"), "TEST PASS", "TEST FAIL");
    }),
    ("TEST04 not verified", &[N34, N35], |tree| {
        tree.remove(&format!("{TEST04}/verify_performance.txt"));
    }),
];
