//! Generates the messages, the client and the server from the `.proto` file, without a system `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const PROTO: &str = "proto/netdiv/v1/sut_node.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PROTO}");
    let descriptors = protox::compile([PROTO], ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // The reflection service hands these out to grpcurl and the like.
    fs::write(out.join("netdiv_v1.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        // Payloads as `Bytes`: a slice of what was received, not a copy of it.
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
