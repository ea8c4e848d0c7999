//! Metrics of both programs: their names, in one file, and the endpoint for Prometheus.

mod endpoint;
mod page;
mod registry;

pub use endpoint::{PATH, serve, serve_on_thread};
pub use page::{Buckets, Page};
pub use registry::{Kind, Metric, SAMPLES_BOUNDS, SECONDS_BOUNDS, Unit, loadgen_node, sut_node};
