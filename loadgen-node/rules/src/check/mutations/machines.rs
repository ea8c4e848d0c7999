//! Edits of what the machines are, and of what runs at them: nodes that differ, and machines that may be one.

use netdiv_contract::v1::{Machine, ServingEngine};
use netdiv_words::Scenario;

use super::{Row, Tree};
use crate::{
    Rule::*,
    facts::files::sha256_of,
    result::{Node, RunResult},
};

/// Edits the machine of node-b, and what node-b said before the run.
fn node(record: &mut RunResult, change: impl Fn(&mut Machine, &mut Node)) {
    let machine = record.evidence.as_mut().unwrap().nodes.get_mut("node-b").unwrap();
    change(machine, record.nodes.iter_mut().find(|node| node.name == "node-b").unwrap());
}

/// The same in every record.
fn everywhere(tree: &Tree, change: impl Fn(&mut Machine, &mut Node) + Copy) {
    tree.every_record(|record| node(record, change));
}

/// The same of all nodes in all records of Server.
fn in_server(tree: &Tree, change: impl Fn(&mut Machine, &mut Node)) {
    tree.every_record(|record| {
        if record.scenario == Scenario::Server {
            let machines = &mut record.evidence.as_mut().unwrap().nodes;
            for node in &mut record.nodes {
                change(machines.get_mut(&node.name).unwrap(), node);
            }
        }
    });
}

/// Other settings, with all their digests.
fn set(machine: &mut Machine, node: &mut Node, text: &str) {
    machine.settings = Some(text.into());
    machine.settings_sha256 = Some(sha256_of(text));
    node.config_sha256 = sha256_of(text);
}

/// Settings as a node publishes them.
fn published(devices: &str, precision: &str) -> String {
    format!(
        "max_batch = 64\n[engine]\nkind = \"plug-in\"\nplug_in = \"torch\"\ndevices = [\"{devices}\"]\n\
         [engine.model]\nname = \"resnet50\"\nprecision = \"{precision}\"\n"
    )
}

/// Boots a machine with another kernel.
fn boot(machine: &mut Machine, kernel: &str) {
    machine.kernel = Some(kernel.into());
    machine.boot_id = machine.boot_id.as_ref().map(|id| id.replace("-4000-", "-4001-"));
}

pub(super) const ROWS: &[Row] = &[
    ("a node with another model", &[N2], |tree| {
        everywhere(tree, |_, node| node.model_sha256 = "0".repeat(64));
    }),
    ("a node with a model of another name", &[N2], |tree| {
        everywhere(tree, |_, node| node.model = "resnet18".into());
    }),
    ("a node with another engine", &[N2], |tree| {
        everywhere(tree, |_, node| node.engine = "onnx".into());
    }),
    ("a node with another framework", &[N2, N36], |tree| {
        everywhere(tree, |machine, _| machine.framework = Some("rten 0.27".into()));
    }),
    ("a node with another version of its program", &[N2, N6, N36], |tree| {
        everywhere(tree, |machine, node| {
            machine.program = Some("sut-node 0.0.9".into());
            node.software_version = "0.0.9".into();
        });
    }),
    ("a node with another program", &[N2, N6, N36], |tree| {
        everywhere(tree, |machine, _| machine.program = Some("fast-node 0.1.0".into()));
    }),
    ("a node that runs the model in another precision", &[N2, N35], |tree| {
        tree.every_record(|record| {
            for one in &mut record.nodes {
                let precision = if one.name == "node-b" { "fp8" } else { "fp16" };
                let machines = &mut record.evidence.as_mut().unwrap().nodes;
                let machine = machines.get_mut(&one.name).unwrap();
                set(machine, one, &published("cuda:0", precision));
            }
        });
    }),
    ("a node with another plug-in", &[N2], |tree| {
        tree.every_record(|record| {
            for one in &mut record.nodes {
                let machines = &mut record.evidence.as_mut().unwrap().nodes;
                let text = published("cuda:0", "fp16");
                let text = match one.name.as_str() {
                    "node-b" => text.replace("\"torch\"", "\"libfast.so\""),
                    _ => text,
                };
                set(machines.get_mut(&one.name).unwrap(), one, &text);
            }
        });
    }),
    ("another model in one of two scenarios", &[N2], |tree| {
        in_server(tree, |_, node| node.model_sha256 = "0".repeat(64));
    }),
    ("another engine in one of two scenarios", &[N2], |tree| {
        in_server(tree, |_, node| node.engine = "onnx".into());
    }),
    ("another framework in one of two scenarios", &[N2], |tree| {
        in_server(tree, |machine, _| {
            machine.framework = Some("libtorch 2.10.0 (CUDA 12.8)".into())
        });
    }),
    ("another program in one of two scenarios", &[N2, N24], |tree| {
        in_server(tree, |_, node| node.software_version = "0.1.1".into());
    }),
    ("another kernel in one of two scenarios", &[N2], |tree| {
        in_server(tree, |machine, _| boot(machine, "Linux 6.9.0"));
    }),
    ("another container image in one of two scenarios", &[N2], |tree| {
        in_server(tree, |machine, _| machine.container_image = Some("sut-node@sha256:1".into()));
    }),
    ("another model in the test of a result", &[N30], |tree| {
        tree.record("Server/TEST01", |record| {
            record.nodes.iter_mut().for_each(|node| {
                node.model_sha256 = "0".repeat(64);
            })
        });
    }),
    ("another engine for accuracy", &[N30], |tree| {
        tree.record("Offline/accuracy", |record| {
            record.nodes.iter_mut().for_each(|node| {
                node.engine = "onnx".into();
            })
        });
    }),
    ("another framework for accuracy", &[N30], |tree| {
        tree.record("Server/accuracy", |record| {
            for machine in record.evidence.as_mut().unwrap().nodes.values_mut() {
                machine.framework = Some("libtorch 2.10.0 (CUDA 12.8)".into());
            }
        });
    }),
    ("another kernel for accuracy", &[N30], |tree| {
        tree.record("Server/accuracy", |record| {
            node(record, |machine, _| boot(machine, "Linux 6.9.0"));
        });
    }),
    ("another kernel in the same boot", &[N20, N30], |tree| {
        tree.record("Server/accuracy", |record| {
            node(record, |machine, _| machine.kernel = Some("Linux 6.9.0".into()));
        });
    }),
    ("another board under the same name", &[N20], |tree| {
        tree.record("Server/accuracy", |record| {
            node(record, |machine, _| machine.board_serial = Some("SN9999".into()));
        });
    }),
    ("other processors in one run", &[N20], |tree| {
        tree.record("Server/accuracy", |record| {
            node(record, |machine, _| machine.cpu_model = Some("AMD EPYC 9965".into()));
        });
    }),
    ("another product in one run", &[N20], |tree| {
        tree.record("Offline/TEST04", |record| {
            node(record, |machine, _| machine.product = Some("Acme R770".into()));
        });
    }),
    ("fewer accelerators in one run", &[N20], |tree| {
        tree.record("Server/accuracy", |record| {
            node(record, |machine, _| {
                machine.accelerators.pop();
                machine.accelerator_count = Some(1);
            });
        });
    }),
    ("a machine without its id, another one after that", &[N20], |tree| {
        tree.record("Offline/performance", |record| node(record, |one, _| one.machine_id = None));
        tree.record("Server/accuracy", |record| {
            node(record, |machine, _| machine.machine_id = Some("f".repeat(32)));
        });
    }),
    ("the board that the operator states of both machines", &[N4], |tree| {
        tree.every_record(|record| {
            let evidence = record.evidence.as_mut().unwrap();
            let nodes = evidence.nodes.values_mut();
            for machine in nodes.chain([&mut evidence.loadgen_node]) {
                machine.board_serial = Some("SN1".into());
                machine.supplied.push("board_serial".into());
            }
        });
    }),
    ("containers on one host, with addresses and ids of their own", &[N4], |tree| {
        tree.every_record(|record| {
            let evidence = record.evidence.as_mut().unwrap();
            let boot = evidence.loadgen_node.boot_id.clone();
            node(record, |machine, _| {
                machine.boot_id.clone_from(&boot);
                machine.board_serial = None;
            });
        });
    }),
];

/// An edit of the LoadGen node's machine and of node-b's.
type OfMachines = fn(&mut Machine, &mut Machine);

/// Edits after which no rule is broken, and N4 cannot be told.
pub(super) const INDISTINCT: &[(&str, OfMachines)] = &[
    ("a record of an older program", |_, node| node.virtual_machine = None),
    ("a LoadGen node of an older program", |loadgen, _| loadgen.virtual_machine = None),
    ("a virtual machine", |_, node| node.virtual_machine = Some(true)),
    ("a LoadGen node in a virtual machine", |loadgen, _| loadgen.virtual_machine = Some(true)),
    ("a product that is one", |_, node| node.product = Some("QEMU Standard PC (Q35)".into())),
    ("no product", |_, node| node.product = None),
    ("an empty product", |_, node| node.product = Some(" ".into())),
    ("a product that was stated", |_, node| node.supplied.push("product".into())),
    ("bare metal that was stated", |_, node| node.supplied.push("virtual_machine".into())),
    ("a serving engine on another machine", |_, node| {
        let address = "engine-b:8000".into();
        node.serving_engines.push(ServingEngine { address, here: Some(false), interface: None });
    }),
    ("microVMs on one host", |loadgen, node| {
        for machine in [loadgen, node] {
            machine.virtual_machine = Some(true);
            machine.product = None;
            machine.bios_version = Some("stated".into());
            machine.supplied.push("bios_version".into());
            machine.board_serial = None;
        }
    }),
    ("microVMs that hide it", |loadgen, node| {
        for machine in [loadgen, node] {
            machine.virtual_machine = None;
            machine.product = None;
            machine.board_serial = None;
        }
    }),
    ("containers that hide the boot", |_, node| {
        node.boot_id = None;
        node.board_serial = None;
    }),
    ("containers with a board that was stated", |_, node| {
        node.boot_id = None;
        node.supplied.push("board_serial".into());
    }),
    ("a boot that was stated", |loadgen, node| {
        node.board_serial = None;
        loadgen.supplied.push("boot_id".into());
    }),
];
