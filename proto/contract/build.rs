//! Generates the messages, the client and the server from the `.proto` files, without a system `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const PROTOS: [&str; 3] =
    ["netdiv/v1/sut_node.proto", "netdiv/v1/quic.proto", "netdiv/v1/evidence.proto"];

/// Names of the messages that contain evidence about a machine. Files contain them too, so they
/// also get serde's derives.
const WRITTEN: [&str; 5] = ["Machine", "Accelerator", "Interface", "Route", "ServingEngine"];

fn main() -> Result<(), Box<dyn Error>> {
    for proto in PROTOS {
        println!("cargo::rerun-if-changed={proto}");
    }
    let descriptors = protox::compile(PROTOS, ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // The reflection service passes the descriptors to grpcurl and similar tools.
    fs::write(out.join("netdiv_v1.bin"), descriptors.encode_to_vec())?;
    let written = WRITTEN.iter().fold(tonic_prost_build::configure(), |builder, message| {
        builder.message_attribute(
            format!("netdiv.v1.{message}"),
            "#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] \
             #[serde(default, deny_unknown_fields)]",
        )
    });
    // Settings and records contain the values of these too; see `netdiv_node_common::words`.
    ["Encoding", "Decoding"]
        .iter()
        .fold(written, |builder, word| {
            builder.enum_attribute(
                format!("netdiv.v1.{word}"),
                "#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] \
                 #[cfg_attr(feature = \"clap\", derive(clap::ValueEnum))] \
                 #[derive(strum::Display, strum::IntoStaticStr)] \
                 #[serde(rename_all = \"kebab-case\")] \
                 #[strum(serialize_all = \"kebab-case\")]",
            )
        })
        .client_mod_attribute(".", "#[cfg(feature = \"grpc\")]")
        .server_mod_attribute(".", "#[cfg(feature = \"grpc\")]")
        // Decodes payloads as `Bytes`: slices of the received chunks, without a copy.
        .bytes(".")
        // The header contains a secret.
        .skip_debug(["netdiv.v1.CallHeader"])
        .compile_fds(descriptors)?;
    Ok(())
}
