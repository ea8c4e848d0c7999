//! `loadgen-node nodes`: who is there.

use netdiv_proto::{encoding, layout};
use netdiv_qdl::NodeInfo;

use crate::{NetworkArgs, RunError};

/// Asks every node who it is and prints the answers. An error when one does not answer.
pub fn print_nodes(args: &NetworkArgs) -> Result<(), RunError> {
    let settings = args.resolve()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| RunError::Failed(error.to_string()))?;
    let mut missing = None;
    for answer in runtime.block_on(netdiv_qdl::survey(&settings.nodes, &settings.network)) {
        match answer {
            Ok(node) => println!("{}\n", in_words(&node)),
            Err(error) => {
                println!("{error}\n");
                missing = Some(error);
            }
        }
    }
    missing.map_or(Ok(()), |error| Err(error.into()))
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
        format!("  host        {}", d.host_name),
        format!(
            "  versions    sut-node {}, wire contract {}",
            d.software_version, d.protocol_version
        ),
        format!("  round trip  {:.0} µs", node.round_trip.as_secs_f64() * 1e6),
    ]
    .join("\n")
}
