//! The end-to-end tests: one program, so that it is linked once, and tests of different files run
//! at the same time.
//!
//! Each file is a module: `cargo test --release -p e2e failure::` runs the tests of `failure.rs`.

mod accuracy;
mod audit;
mod bad_input;
mod calls;
mod command_line;
mod crowds;
mod device;
mod discovery;
mod doctor;
mod documents;
mod evaluation;
mod exhausted;
mod fabric;
mod fabric_matrix;
mod fabric_options;
mod failure;
mod faults;
mod fitness;
mod half_closed;
mod hostile;
mod init;
mod interop;
mod language;
mod live_view;
mod logs;
mod metrics;
mod model_file;
mod node_faults;
mod parts;
mod performance;
mod plugin;
mod plugin_tokens;
mod probe;
mod python;
mod python_tokens;
mod relay;
mod releases;
mod report;
mod rules;
mod sampling;
mod security;
mod service_manager;
mod sorting;
mod speech;
mod sweep;
mod tokens;
mod torch;
mod torch_tokens;
mod triton;
mod wire;

#[path = "../../loadgen-node/rules/tests/stated/mod.rs"]
#[allow(dead_code, reason = "the rules' own tests use the rest")]
mod stated;
