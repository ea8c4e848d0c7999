//! Description of a node.

use netdiv_contract::{encoding::Encoding, layout};
use netdiv_machine::evidence::{Interface, Machine};
use netdiv_qdl::NodeInfo;

use super::table;

pub(crate) fn render(node: &NodeInfo) -> String {
    let d = &node.description;
    let input = layout::describe(&d.input.clone().unwrap_or_default());
    let encodings: Vec<_> = d.encodings().map(Encoding::word).collect();
    let sha256 = match d.model_sha256.get(..12) {
        Some(start) => format!(", SHA-256 {start}…"),
        None => String::new(),
    };
    let machine = d.machine.clone().unwrap_or_default();
    let facts = table::facts([
        ("model", format!("{}{sha256}, takes {input}", d.model_name)),
        ("engine", format!("{}, batches of up to {}", d.engine, d.max_batch)),
        ("encodings", encodings.join(", ")),
        (
            "in flight",
            format!(
                "up to {} samples and {} bytes, {} bytes each",
                d.max_in_flight_samples, d.max_in_flight_bytes, d.max_payload_bytes
            ),
        ),
        ("not known", unknown(&machine)),
        ("host", host(&d.host_name, machine)),
        (
            "versions",
            format!("sut-node {}, wire contract {}", d.software_version, d.protocol_version),
        ),
        ("round trip", format!("{:.0} µs", node.round_trip.as_secs_f64() * 1e6)),
    ]);
    format!("{} at {}\n{facts}", d.node_name, node.address)
}

/// Returns the facts that a submission needs and the node does not know. Its operator can state
/// them (docs/SUBMISSION.md).
fn unknown(machine: &Machine) -> String {
    let route = machine.routes.first().and_then(|route| route.interface.as_deref());
    let interface = machine.interfaces.iter().find(|i| Some(i.name.as_str()) == route);
    let of_interface = |lacks: fn(&Interface) -> bool| interface.is_none_or(lacks);
    let lacking = [
        ("machine_id", machine.machine_id.is_none()),
        ("virtual_machine", machine.virtual_machine.is_none()),
        ("product", machine.product.is_none()),
        ("bios_version", machine.bios_version.is_none()),
        ("operating_system", machine.operating_system.is_none()),
        ("framework", machine.framework.is_none()),
        ("memory_ecc", machine.memory_ecc.is_none()),
        ("container_image", machine.container_image.is_none()),
        ("model of the interface", of_interface(|i| i.model.is_none())),
        ("its driver", of_interface(|i| i.driver.is_none())),
        ("its firmware", of_interface(|i| i.firmware.is_none())),
        ("its speed", of_interface(|i| i.speed_mbit_per_second.is_none())),
    ];
    let lacking: Vec<_> =
        lacking.iter().filter(|(_, lacks)| *lacks).map(|(what, _)| *what).collect();
    if lacking.is_empty() { "nothing that a submission needs".into() } else { lacking.join(", ") }
}

/// Describes a node's machine, and the interface through which it replies to this machine. Unknown
/// facts are left out.
fn host(name: &str, machine: Machine) -> String {
    let mut parts = vec![name.to_owned()];
    parts.extend(machine.cpu_model);
    parts.extend(machine.memory_bytes.map(|bytes| format!("{} GiB", bytes >> 30)));
    parts.extend(machine.memory_ecc.map(|on| format!("ECC {}", if on { "on" } else { "off" })));
    parts.extend(machine.accelerators.into_iter().map(|accelerator| accelerator.name));
    let interface = machine.routes.into_iter().next().and_then(|route| route.interface);
    parts.extend(interface.map(|name| format!("replies via {name}")));
    parts.join(", ")
}
