//! `loadgen-node nodes`: who is there.

use netdiv_evidence::{Interface, Machine};
use netdiv_proto::{encoding, layout};
use netdiv_qdl::NodeInfo;
use tracing::error;

use crate::{NetworkArgs, RunError, output::say};

/// Asks every node who it is and prints the answers. An error when one does not answer.
pub fn print_nodes(args: &NetworkArgs) -> Result<(), RunError> {
    let settings = args.resolve()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| RunError::Failed(error.to_string()))?;
    let answers = runtime.block_on(netdiv_qdl::survey(&settings.nodes, &settings.network));
    for answer in &answers {
        match answer {
            Ok(node) => say(format_args!("{}\n", in_words(node)))?,
            Err(error) => error!("{error}"),
        }
    }
    match answers.iter().filter(|answer| answer.is_err()).count() {
        0 => Ok(()),
        missing => {
            Err(RunError::Usage(format!("{missing} of {} nodes cannot be used", answers.len())))
        }
    }
}

/// What a submission asks for and the node does not know; its operator can state it (docs/SUBMISSION.md).
fn unknown(machine: &Machine) -> String {
    let route = machine.routes.first().and_then(|route| route.interface.as_deref());
    let interface = machine.interfaces.iter().find(|i| Some(i.name.as_str()) == route);
    let of_interface = |lacks: fn(&Interface) -> bool| interface.is_none_or(lacks);
    let lacking = [
        ("machine_id", machine.machine_id.is_none()),
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
    if lacking.is_empty() { "nothing of importance".into() } else { lacking.join(", ") }
}

/// The machine and its way to this one; what it does not know is left out.
fn host(node: &NodeInfo) -> String {
    let d = &node.description;
    let machine = d.machine.clone().unwrap_or_default();
    let mut parts = vec![d.host_name.clone()];
    parts.extend(machine.cpu_model);
    parts.extend(machine.memory_bytes.map(|bytes| format!("{} GiB", bytes >> 30)));
    parts.extend(machine.memory_ecc.map(|on| format!("ECC {}", if on { "on" } else { "off" })));
    parts.extend(machine.accelerators.into_iter().map(|accelerator| accelerator.name));
    let interface = machine.routes.first().and_then(|route| route.interface.clone());
    parts.extend(interface.map(|name| format!("answers by {name}")));
    parts.join(", ")
}

fn in_words(node: &NodeInfo) -> String {
    let d = &node.description;
    let input = layout::describe(&d.input.clone().unwrap_or_default());
    let encodings: Vec<_> = d.encodings().map(encoding::name).collect();
    let sha256 = match d.model_sha256.get(..12) {
        Some(start) => format!(", SHA-256 {start}…"),
        None => String::new(),
    };
    [
        format!("{} at {}", d.node_name, node.address),
        format!("  model       {}{sha256}, takes {input}", d.model_name),
        format!("  engine      {}, batches of up to {}", d.engine, d.max_batch),
        format!("  encodings   {}", encodings.join(", ")),
        format!(
            "  in flight   up to {} samples and {} bytes, {} bytes each",
            d.max_in_flight_samples, d.max_in_flight_bytes, d.max_payload_bytes
        ),
        format!("  host        {}", host(node)),
        format!("  not known   {}", unknown(&d.machine.clone().unwrap_or_default())),
        format!(
            "  versions    sut-node {}, wire contract {}",
            d.software_version, d.protocol_version
        ),
        format!("  round trip  {:.0} µs", node.round_trip.as_secs_f64() * 1e6),
    ]
    .join("\n")
}
