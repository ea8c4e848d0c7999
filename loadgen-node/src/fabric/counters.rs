//! What this machine counts while a cell is measured: processor time, and what TCP or QUIC had to do.

use std::{collections::BTreeMap, fs, time::Duration};

use netdiv_qdl::QuicPath;
use netdiv_resources::processor;
use rustix::param::clock_ticks_per_second;

use super::{
    path::{Connection, Path},
    tcp,
};

/// How the I/O threads of the QDL are called.
const IO_THREADS: &str = "qdl-io-";

/// A glance at the counters. What cannot be read is left out.
#[derive(Debug)]
pub(super) struct Counters {
    /// Processor time of this process.
    processor: Duration,
    /// That of each I/O thread in seconds, by the thread's number.
    io_threads: BTreeMap<String, f64>,
    /// Segments that TCP sent again, on this whole host.
    retransmits: Option<u64>,
    /// Those of the measurement.
    connections: Vec<Connection>,
}

impl Counters {
    /// The counters as they are now. What is about TCP is asked of the kernel.
    pub(super) fn now(quic: Vec<QuicPath>) -> Self {
        let connections = match quic[..] {
            [] => tcp::connections(),
            _ => quic.into_iter().enumerate().map(Into::into).collect(),
        };
        let snmp = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
        Self {
            processor: processor::time(),
            io_threads: io_threads(),
            retransmits: retransmits(&snmp),
            connections,
        }
    }

    /// Processor seconds of this process since the earlier glance.
    pub(super) fn processor_seconds(&self, earlier: &Self) -> f64 {
        self.processor.saturating_sub(earlier.processor).as_secs_f64()
    }

    /// The share of these seconds that the busiest I/O thread was busy, from 0 to 1.
    pub(super) fn busiest_io_thread(&self, earlier: &Self, seconds: f64) -> Option<f64> {
        let busy = self.io_threads.iter().filter_map(|(thread, now)| {
            let before = earlier.io_threads.get(thread)?;
            Some(((now - before) / seconds).clamp(0.0, 1.0))
        });
        busy.reduce(f64::max)
    }

    /// What the connections did since the earlier glance.
    pub(super) fn path(&self, earlier: &Self) -> Option<Path> {
        Path::between(&earlier.connections, &self.connections)
    }

    /// Segments that TCP sent again since the earlier glance.
    pub(super) fn retransmits(&self, earlier: &Self) -> Option<u64> {
        self.retransmits?.checked_sub(earlier.retransmits?)
    }
}

fn io_threads() -> BTreeMap<String, f64> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let seconds = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        let name = stat.split_once('(')?.1.rsplit_once(')')?.0;
        let seconds = ticks(&stat)? as f64 / clock_ticks_per_second() as f64;
        let id = task.file_name().into_string().ok()?;
        name.starts_with(IO_THREADS).then_some((id, seconds))
    };
    tasks.filter_map(seconds).collect()
}

/// Clock ticks in user and in kernel code, the 14th and 15th field of `stat`; a name may hold spaces and brackets.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let kernel: u64 = fields.next()?.parse().ok()?;
    user.checked_add(kernel)
}

/// `RetransSegs` of `/proc/net/snmp`: a line of titles, then a line of values.
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
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(ticks("7 (a) S 1"), None);
        let snmp = "Ip: A\nIp: 1\nTcp: InSegs RetransSegs\nTcp: 5 6\nUdp: A\nUdp: 1\n";
        assert_eq!(retransmits(snmp), Some(6));
        assert_eq!(retransmits("Tcp: InSegs\n"), None);
    }
}
