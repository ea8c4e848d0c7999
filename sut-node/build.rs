//! Generates messages and clients of serving engines from the `.proto` files, without a system `protoc`.

use std::error::Error;

const PROTOS: [&str; 1] = ["vllm_engine.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
