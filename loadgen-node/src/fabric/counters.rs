//! Counters of this machine during a measurement: processor time, and statistics of TCP or QUIC.

use std::{collections::BTreeMap, time::Duration};

use netdiv_node_common::resources::{kernel, processor};
use netdiv_qdl::QuicPath;

use super::{path::Connection, tcp};

/// Prefix of the names of the QDL's I/O threads.
const IO_THREADS: &str = "qdl-io-";

/// Counters at one moment. Values that cannot be read are left out.
#[derive(Debug)]
pub(super) struct Counters {
    /// Processor time of this process.
    pub(super) processor: Duration,
    /// Processor time of each I/O thread in seconds, by the thread's number.
    io_threads: BTreeMap<String, f64>,
    /// Number of segments that TCP has retransmitted on this whole host.
    retransmits: Option<u64>,
    pub(super) connections: Vec<Connection>,
}

impl Counters {
    /// Reads the current counters. Without QUIC connections, reads the TCP connections from the
    /// kernel.
    pub(super) fn now(quic: Vec<QuicPath>) -> Self {
        let connections = match quic[..] {
            [] => tcp::connections(),
            _ => quic.into_iter().enumerate().map(Into::into).collect(),
        };
        let snmp = kernel::read("/proc/net/snmp");
        Self {
            processor: processor::time(),
            io_threads: processor::threads(|name| name.starts_with(IO_THREADS)),
            retransmits: retransmits(&snmp),
            connections,
        }
    }

    /// Returns the share of the `seconds` since an earlier reading in which the busiest I/O thread
    /// was busy, from 0 to 1.
    pub(super) fn busiest_io_thread(&self, earlier: &Self, seconds: f64) -> Option<f64> {
        let seconds = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        processor::busiest(&earlier.io_threads, &self.io_threads, seconds)
    }

    /// Returns the number of segments that TCP has retransmitted on this host since an earlier
    /// reading.
    pub(super) fn retransmits(&self, earlier: &Self) -> Option<u64> {
        self.retransmits?.checked_sub(earlier.retransmits?)
    }
}

/// Returns `RetransSegs` of `/proc/net/snmp`: a line of titles, then a line of values.
fn retransmits(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (titles, values) = (lines.next()?, lines.next()?);
    let column = titles.split(' ').position(|title| title == "RetransSegs")?;
    values.split(' ').nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read() {
        let snmp = "Ip: A\nIp: 1\nTcp: InSegs RetransSegs\nTcp: 5 6\nUdp: A\nUdp: 1\n";
        assert_eq!(retransmits(snmp), Some(6));
        assert_eq!(retransmits("Tcp: InSegs\n"), None);
    }
}
