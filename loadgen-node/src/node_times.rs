//! Processor times that nodes report.

use std::time::Duration;

use netdiv_contract::v1::DescribeResponse;
use netdiv_node_common::resources::processor::ProcessorTimes;

/// Returns the times of a node's program between two of its descriptions.
pub(crate) fn between(earlier: &DescribeResponse, later: &DescribeResponse) -> ProcessorTimes {
    let [earlier, later] = [earlier, later].map(|description| ProcessorTimes {
        ran: Duration::from_nanos(description.processor_ns),
        waited: Duration::from_nanos(description.processor_wait_ns),
        throttled: Duration::from_nanos(description.throttled_ns),
        stolen: Duration::from_nanos(description.stolen_ns),
        late: Duration::ZERO,
    });
    later.since(&earlier)
}
