//! Edits after which nothing distinguishes the machines of the LoadGen node and a SUT node.

use netdiv_contract::v1::{Machine, ServingEngine};

/// Edit of the LoadGen node's machine and of node-b's machine.
type MachineEdit = fn(&mut Machine, &mut Machine);

/// Edits that break no rule, but after which N4 cannot be judged.
pub(super) const INDISTINCT: &[(&str, MachineEdit)] = &[
    ("a record of an older program", |_, node| node.virtual_machine = None),
    ("a LoadGen node of an older program", |loadgen, _| loadgen.virtual_machine = None),
    ("a virtual machine", |_, node| node.virtual_machine = Some(true)),
    ("a LoadGen node in a virtual machine", |loadgen, _| loadgen.virtual_machine = Some(true)),
    ("the product of a virtual machine", |_, node| {
        node.product = Some("QEMU Standard PC (Q35)".into())
    }),
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
