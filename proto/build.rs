//! Generates the messages, the client and the server from the `.proto` files, without a system `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const PROTOS: [&str; 2] = ["proto/netdiv/v1/sut_node.proto", "proto/netdiv/v1/quic.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    for proto in PROTOS {
        println!("cargo::rerun-if-changed={proto}");
    }
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // The reflection service hands these out to grpcurl and the like.
    fs::write(out.join("netdiv_v1.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        // Payloads as `Bytes`: a slice of what was received, not a copy of it.
        .bytes(".")
        // It holds a secret.
        .skip_debug(["netdiv.v1.CallHeader"])
        .compile_fds(descriptors)?;
    Ok(())
}
