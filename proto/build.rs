//! Generates the messages, the client and the server from the `.proto` files, without a system `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const PROTOS: [&str; 3] = [
    "proto/netdiv/v1/sut_node.proto",
    "proto/netdiv/v1/quic.proto",
    "proto/netdiv/v1/evidence.proto",
];

/// Messages that are also written into files: evidence.
const WRITTEN: [&str; 4] = ["Machine", "Accelerator", "Interface", "Route"];

fn main() -> Result<(), Box<dyn Error>> {
    for proto in PROTOS {
        println!("cargo::rerun-if-changed={proto}");
    }
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // The reflection service hands these out to grpcurl and the like.
    fs::write(out.join("netdiv_v1.bin"), descriptors.encode_to_vec())?;
    let written = WRITTEN.iter().fold(tonic_prost_build::configure(), |builder, message| {
        builder.message_attribute(
            format!("netdiv.v1.{message}"),
            "#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] \
             #[serde(default, deny_unknown_fields)]",
        )
    });
    written
        // Payloads as `Bytes`: a slice of what was received, not a copy of it.
        .bytes(".")
        // It holds a secret.
        .skip_debug(["netdiv.v1.CallHeader"])
        .compile_fds(descriptors)?;
    Ok(())
}
