//! `node.toml`: settings of a SUT node, the same on all.

use netdiv_words::TODO;

use super::{known::Template, text::Text};

/// What a node takes by default, in bytes: `--max-payload-bytes` of `sut-node`.
const MAX_PAYLOAD_BYTES: u64 = 64 << 20;

pub(super) fn text(template: &Template<'_>) -> String {
    let Template { benchmark, scenario, port, .. } = template;
    let host = if template.is_local { "127.0.0.1" } else { "0.0.0.0" };
    let mut text = Text::default();
    text.comment(&format!(
        "Settings of sut-node --config node.toml, for {}: the same file on every node. What differs among nodes stands on the \
         command line. Paths are relative to this file.",
        benchmark.name
    ))
    .line("")
    .key("listen", format!("{host}:{port}"), "Where the node listens: gRPC over TCP, QUIC over UDP.")
    .maybe("name", "node-1", "Name of the node, unique in its cluster; without it HOSTNAME-PORT, so that all nodes can share this file.")
    .key(
        "engine",
        "torch",
        "What runs the model: torch (libtorch), onnx, decoder, the file of a plug-in, openai \
         or kserve; docs/MODELS.md and docs/ENGINES.md say how.",
    )
    .key(
        "model",
        format!("{TODO}-manifest.toml"),
        &format!(
            "The model, {}{}: its manifest, or what the engine takes in its place. Write its path.",
            benchmark.model,
            template.source("model")
        ),
    );
    // Engines of tokens have no batches to choose.
    if benchmark.token_latencies.is_none() {
        text.key(
            "scenario",
            scenario.to_string(),
            "Take the batch settings of this scenario from the manifest; leave it out for engines without one.",
        )
        .maybe("max_batch", 32, "Longest batch, in samples; a manifest has its own.");
    }
    text.maybe(
        "devices",
        vec!["cuda:0"],
        "Devices, as sut-node devices names them; without it all GPUs, or the CPU.",
    );
    payload(template, &mut text);
    let tls = [
        (
            "tls_certificate",
            "certificates/HOST.pem",
            "The node's own certificate. It differs among nodes: give it on the command line.",
        ),
        ("tls_key", "certificates/HOST.key", "The key of that certificate, likewise."),
    ];
    for (key, value, comment) in tls {
        text.maybe(key, value, comment);
    }
    let client = "The authority that signed the client's certificate: nobody else may connect.";
    match template.is_local {
        true => text.maybe("tls_client_ca", "certificates/ca.pem", client),
        false => text.key("tls_client_ca", "certificates/ca.pem", client),
    };
    text.maybe("metrics", "127.0.0.1:9090", "Address of the Prometheus endpoint.")
        .maybe(
            "evidence",
            "node-evidence.toml",
            "Facts about the machine that cannot be read from it, where loadgen-node nodes lists some as not known [6.2.2].",
        );
    text.finish()
}

/// Samples may be longer than a node takes by default.
fn payload(template: &Template<'_>, text: &mut Text) {
    let all = &template.benchmark.bandwidth;
    let longest = all.iter().map(crate::book::Bandwidth::ingress_bytes).max().unwrap_or(0);
    if longest > MAX_PAYLOAD_BYTES {
        let room = i64::try_from(longest.next_power_of_two()).unwrap_or(i64::MAX);
        text.key(
            "max_payload_bytes",
            room,
            &format!(
                "Longest sample that is taken, in bytes: one has up to {longest}{}.",
                template.source("bandwidth")
            ),
        )
        .key(
            "max_in_flight_bytes",
            room.saturating_mul(4),
            "Bytes that are taken in before the node stops reading: four of them.",
        );
    }
}
