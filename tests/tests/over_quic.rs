//! The end-to-end tests once more, over QUIC: the helpers see by this program's name which transport to use.

#[path = "accuracy.rs"]
mod accuracy;
#[path = "bad_input.rs"]
mod bad_input;
#[path = "failure.rs"]
mod failure;
#[path = "faults.rs"]
mod faults;
#[path = "node_faults.rs"]
mod node_faults;
#[path = "performance.rs"]
mod performance;
#[path = "rules.rs"]
mod rules;
#[path = "torch.rs"]
mod torch;
#[path = "wire.rs"]
mod wire;
