//! Metrics of both programs: their names, in one file, and the endpoint for Prometheus.

mod endpoint;
mod page;
mod process;
mod registry;

pub use endpoint::{PATH, serve, serve_on_thread};
pub use page::{Buckets, Page};
pub use process::{process_page, version_labels};
pub use registry::{
    Kind, Metric, SAMPLES_BOUNDS, SECONDS_BOUNDS, Unit, both_programs, loadgen_node, sut_node,
};
