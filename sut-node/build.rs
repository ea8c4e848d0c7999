//! Generates the messages and the client of the Open Inference Protocol, without a system `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(["proto/inference.proto"], ["proto"])?;
    // Tensors as `Bytes`: a slice of what was received, not a copy of it.
    // The tests' server answers some of the calls.
    let builder = tonic_prost_build::configure().bytes(".").generate_default_stubs(true);
    builder.compile_fds(descriptors)?;
    Ok(())
}
