//! Capacity of the network between this machine and the nodes, over the transport of a run: the
//! same QDL, messages, windows and connections. Nodes run the engine `none`, which answers each
//! sample with as many bytes as the sample asks for.

mod bandwidth;
pub(crate) mod benchmark;
mod client;
pub(crate) mod connection_choice;
mod counters;
pub(crate) mod figures;
pub(crate) mod matrix;
mod open_loop;
mod path;
pub(crate) mod plan;
mod progress;
pub(crate) mod report;
mod tcp;
pub(crate) mod usual_rates;
pub(crate) mod watch;
