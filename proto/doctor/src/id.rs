//! Every finding that there is. docs/DOCTOR.md has the same as a table.

use serde::Serialize;
use strum::IntoEnumIterator as _;

/// What can be found. Its word, in lower case with hyphens, is part of the JSON report and does not change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, strum::EnumIter, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[expect(missing_docs, reason = "`about` says what each is")]
pub enum Id {
    NodeUnusable,
    RunRefused,
    DiskSpace,
    OpenFiles,
    HalfDuplex,
    Memory,
    UdpReceiveBuffer,
    UdpSendBuffer,
    TcpReceiveBuffer,
    TcpSendBuffer,
    WaitingConnections,
    MtuDiffers,
    QuicMtu,
    StandardFrames,
    SpeedDiffers,
    Offloads,
    MissedFrames,
    Governor,
    CpuQuota,
    SharedCore,
    NumaPin,
    NumaUnpinned,
    NumaAccelerator,
    SwapUsed,
    Swappiness,
    ClockSource,
    ClockUnsynchronised,
    ClockOffset,
    ClockUnwatched,
    VersionDiffers,
    SameMachine,
}

/// What there is to say of a finding wherever it is made.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// How bad it is: one severity, or two with `or` between them.
    pub severity: &'static str,
    /// When it is made.
    pub when: &'static str,
    /// What it costs not to mend it.
    pub cost: &'static str,
    /// What mends it.
    pub remedy: &'static str,
}

impl Id {
    /// All of them, the gravest first.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// What there is to say of it.
    pub fn about(self) -> About {
        let (severity, when, cost, remedy) = match self {
            Self::NodeUnusable => (
                "problem",
                "a node of `--nodes` does not answer, or cannot be used with these settings",
                "A run is refused before it begins.",
                "what the message says",
            ),
            Self::RunRefused => (
                "problem",
                "a benchmark is named, and `run` with these settings would be refused before it asks a node: data set, labels, LoadGen's settings, memory",
                "There is no run.",
                "what the message says",
            ),
            Self::DiskSpace => (
                "problem",
                "a benchmark is named, and the file system of `--output` has less than `--min-free-bytes`",
                "A run is refused, and one that fills the disk fails.",
                "room, or another `--output`",
            ),
            Self::OpenFiles => (
                "problem or warning",
                "this process may open fewer files than its connections need; a warning where only strangers lack room",
                "Connections are refused; a node takes fewer strangers (docs/LIMITS.md).",
                "`ulimit -Hn`, systemd's LimitNOFILE",
            ),
            Self::HalfDuplex => (
                "problem",
                "an interface sends and receives in turn",
                "Frames collide under load, and throughput collapses. Not measured.",
                "`ethtool -s`",
            ),
            Self::Memory => (
                "warning or note",
                "the node's limits (docs/LIMITS.md) add up to more memory than this process can have; a note where only clients that fill every limit need so much",
                "The system kills the node when it runs out, and the run fails.",
                "a lower `--max-in-flight-bytes`, `--receive-window-bytes` or `--max-connections`, or more memory",
            ),
            Self::UdpReceiveBuffer => (
                "warning",
                "QUIC is used, and net.core.rmem_max is below the buffer that the transport asks for",
                "Bursts overflow the socket, and QUIC slows down for each loss. Not measured.",
                "`sysctl`",
            ),
            Self::UdpSendBuffer => (
                "warning",
                "the same with net.core.wmem_max",
                "The sender waits for room more often. Not measured.",
                "`sysctl`",
            ),
            Self::TcpReceiveBuffer => (
                "warning",
                "gRPC is used, and the last of net.ipv4.tcp_rmem is below what the link holds in flight: twice its speed by its round trip (1 ms where no node was asked), but not more than `--receive-window-bytes` needs",
                "One connection cannot fill the link. Not measured; `loadgen-node fabric` shows it.",
                "`sysctl`",
            ),
            Self::TcpSendBuffer => (
                "warning",
                "the same with net.ipv4.tcp_wmem",
                "One connection cannot fill the link. Not measured; `loadgen-node fabric` shows it.",
                "`sysctl`",
            ),
            Self::WaitingConnections => (
                "note",
                "net.core.somaxconn is below `--max-connections` of a node",
                "Clients that connect at the same time have to try again, a second later. Not measured.",
                "`sysctl`",
            ),
            Self::MtuDiffers => (
                "warning",
                "the interfaces at the two ends of the way to a node have different MTUs",
                "Longer frames are dropped or cut, and connections may stall. Not measured.",
                "`ip link set`, at the end with the smaller one, or the same on both",
            ),
            Self::QuicMtu => (
                "warning",
                "QUIC is used, and `--quic-mtu` is more than the interface carries",
                "Longer datagrams are tried in vain; QUIC goes on with shorter ones.",
                "a lower `--quic-mtu`, or a higher MTU",
            ),
            Self::StandardFrames => (
                "note",
                "an interface of 10 Gb/s or more has an MTU of 1500 or less",
                "More packets for the same bytes: more processor time, most of all with QUIC. Not measured.",
                "`ip link set`, where every switch on the way takes such frames",
            ),
            Self::SpeedDiffers => (
                "note",
                "the interfaces at the two ends of the way to a node have different speeds",
                "The slower one sets the rate, and a switch has to hold or drop what the faster one sends.",
                "ports of one speed",
            ),
            Self::Offloads => (
                "warning",
                "an interface could, and does not, cut or join segments itself (tso, gso, gro)",
                "The processors do it, packet by packet. Not measured.",
                "`ethtool -K`",
            ),
            Self::MissedFrames => (
                "note",
                "an interface has dropped frames for which there was no room, since it came up",
                "Each loss is sent again, and adds a round trip or more to a sample's latency.",
                "`ethtool -G`",
            ),
            Self::Governor => (
                "warning",
                "the governor of a processor that is used is not `performance`",
                "Processors speed up only after load has come: higher and less even latencies, most of all in Server. Not measured.",
                "`cpupower frequency-set`",
            ),
            Self::CpuQuota => (
                "warning or note",
                "the control group limits processor time; a warning where it has less than the program has I/O threads",
                "When the quota is used up, all threads stop until the next period, mostly 100 ms: latencies have such a tail.",
                "whole processors in place of a quota (CPUQuota=, limits of a pod)",
            ),
            Self::SharedCore => (
                "warning",
                "`--pin` names fewer cores than there are I/O threads",
                "Threads wait for each other; those that poll (`--busy-poll`) starve each other.",
                "more cores, or fewer `--io-threads`",
            ),
            Self::NumaPin => (
                "warning",
                "`--pin` names cores that are on another NUMA node than the interface",
                "Every byte crosses the link between the nodes. Not measured.",
                "`--pin` with cores of the interface's node",
            ),
            Self::NumaUnpinned => (
                "note",
                "there are several NUMA nodes, and the I/O threads may run on any",
                "Runs differ, by where the system puts the threads. Not measured.",
                "`--pin` with cores of the interface's node",
            ),
            Self::NumaAccelerator => (
                "note",
                "an accelerator is on another NUMA node than the interface",
                "Samples cross the link between the nodes on their way to it. Not measured.",
                "an interface or a device of the same node",
            ),
            Self::SwapUsed => (
                "warning",
                "swap is in use",
                "A sample whose memory is there waits for the disk: milliseconds.",
                "`swapoff`, where memory has room for it",
            ),
            Self::Swappiness => (
                "note",
                "there is swap, and vm.swappiness is above 10",
                "The system may put samples on the disk to keep files in memory. Not measured.",
                "`sysctl`",
            ),
            Self::ClockSource => (
                "warning",
                "the kernel does not count time with the processor's own counter",
                "Each look at the clock is a system call, or a slow read of a device, and LoadGen looks at it for every sample. Not measured.",
                "the counter, where the kernel offers it",
            ),
            Self::ClockUnsynchronised => (
                "warning",
                "chrony or systemd says that the clock does not follow others",
                "Logs and traces of the machines do not fit together, and a service that sets the clock later fails the run (docs/RELIABILITY.md).",
                "`chronyc`, `timedatectl`",
            ),
            Self::ClockOffset => (
                "warning",
                "chrony says that the clock is off by more than a run, or traces, can take",
                "If it is set during a run, the run fails; logs and traces of the machines do not fit together.",
                "`chronyc makestep`, before the run",
            ),
            Self::ClockUnwatched => (
                "note",
                "neither chrony nor systemd tells about the clock",
                "Nobody may be keeping it right: logs and traces of the machines do not fit together.",
                "chrony",
            ),
            Self::VersionDiffers => (
                "warning",
                "a node's program has another version than this one",
                "Releases may behave differently, and nobody can tell which of them made a figure.",
                "the same release on both",
            ),
            Self::SameMachine => (
                "note",
                "a node runs on this machine",
                "Both take processor time from each other, and such a run is no result of the Network division.",
                "a machine of its own for the node",
            ),
        };
        About { severity, when, cost, remedy }
    }
}

/// The table of all findings, for the documentation, in Markdown.
pub fn table() -> String {
    let mut table = String::from(
        "| finding | severity | when | what it costs | what mends it |\n|---|---|---|---|---|\n",
    );
    for id in Id::all() {
        let About { severity, when, cost, remedy } = id.about();
        table += &format!("| `{}` | {severity} | {when} | {cost} | {remedy} |\n", id.word());
    }
    table
}
