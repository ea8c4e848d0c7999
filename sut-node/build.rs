//! Generates messages and clients of serving engines from the `.proto` files, without a system `protoc`.

use std::error::Error;

const PROTOS: [&str; 4] = [
    "proto/inference.proto",
    "proto/vllm_engine.proto",
    "proto/sglang_scheduler.proto",
    "proto/trtllm_service.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    // Tensors as `Bytes`: a slice of what was received, not a copy of it.
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
