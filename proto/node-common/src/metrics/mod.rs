//! Metrics of both programs: their names, in one file, and the endpoint for Prometheus.

mod endpoint;
mod metric;
mod page;
mod registry;

pub use endpoint::{PATH, serve, serve_on_thread};
pub use metric::{Kind, Metric, Unit};
pub use page::{Buckets, Page};
pub use registry::{SAMPLES_BOUNDS, SECONDS_BOUNDS, loadgen_node, sut_node, table};
