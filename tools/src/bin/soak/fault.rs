//! Injection of planned faults.

use std::{
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use e2e::{Faults, Flood, Relay, RunningLoadGen, process::send_signal};

use crate::{
    cluster::Node,
    plan::{Fault, Plan},
};

/// Duration of brief faults, shorter than any time limit of a run.
const BRIEFLY: Duration = Duration::from_millis(300);

/// Number of connections of the flooding client.
const FLOODS: usize = 4;

/// Number of connections that send nothing.
const SILENT: usize = 50;

/// Starts a client that floods a node and never reads.
pub fn flood(address: &str, transport: &str) -> Flood {
    Flood::start(address, transport, FLOODS, 64)
}

/// Starts a relay in front of the node, if the fault is a fault of the wire.
pub fn relay(plan: &Plan, node: &Node, seed: u64) -> Option<Relay> {
    let udp = plan.transport == "quic";
    plan.fault.is_of_wire().then(|| Relay::start(&node.address, udp, seed))
}

/// Injects the planned fault into a run; `None` if the run was already over. The returned value
/// must live until the run is over.
pub fn inject(
    plan: &Plan,
    node: &Node,
    relay: Option<&Relay>,
    run: &mut RunningLoadGen,
) -> Option<OtherClient> {
    wait_for_test(run);
    let begin = Instant::now();
    while begin.elapsed() < plan.after && run.is_running() {
        thread::sleep(Duration::from_millis(5));
    }
    if !run.is_running() {
        return None;
    }
    // From here on the exit of the process is not polled, so that its process id stays its own.
    let wire = |faults| relay.into_iter().for_each(|relay| relay.set(faults));
    let briefly = |process: u32| {
        send_signal(process, "-STOP");
        thread::sleep(BRIEFLY);
        send_signal(process, "-CONT");
    };
    match plan.fault {
        Fault::None => {}
        Fault::FloodingClient => return Some(OtherClient::flooding(&node.address, plan.transport)),
        Fault::SilentClients => return Some(OtherClient::silent(&node.address)),
        Fault::SlowWire => wire(Faults {
            delay: Duration::from_millis(5),
            jitter: Duration::from_millis(5),
            // A loss on TCP delays all that follows by 200 ms.
            loss: if plan.transport == "quic" { 0.01 } else { 0.002 },
            ..Faults::none()
        }),
        Fault::WireCutBriefly => {
            wire(Faults::cut());
            thread::sleep(BRIEFLY);
            wire(Faults::none());
        }
        Fault::WireCut => wire(Faults::cut()),
        Fault::WireReset => relay.into_iter().for_each(Relay::reset),
        Fault::NodeFrozenBriefly => briefly(node.id()),
        Fault::NodeFrozen => node.signal("-STOP"),
        Fault::NodeKilled => node.signal("-KILL"),
        Fault::NodeTerminated => node.signal("-TERM"),
        Fault::LoadGenFrozenBriefly => briefly(run.id()),
        Fault::LoadGenInterrupted => send_signal(run.id(), "-INT"),
        Fault::LoadGenKilled => send_signal(run.id(), "-KILL"),
    }
    Some(OtherClient::default())
}

/// Undoes a fault that outlives its run.
pub fn recover(plan: &Plan, node: &Node) {
    if plan.fault == Fault::NodeFrozen {
        node.signal("-CONT");
    }
}

/// Waits until LoadGen has begun to issue queries, or the run is over.
fn wait_for_test(run: &mut RunningLoadGen) {
    let log = run.log();
    let begun = || std::fs::read_to_string(&log).is_ok_and(|t| t.contains("generated_query_count"));
    while run.is_running() && !begun() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Another client of a node during a run. Dropping the value disconnects it.
#[derive(Debug, Default)]
pub struct OtherClient {
    _floods: Option<Flood>,
    _silent: Vec<TcpStream>,
}

impl OtherClient {
    fn flooding(address: &str, transport: &str) -> Self {
        Self { _floods: Some(flood(address, transport)), ..Self::default() }
    }

    fn silent(address: &str) -> Self {
        let silent = (0..SILENT).filter_map(|_| TcpStream::connect(address).ok()).collect();
        Self { _silent: silent, ..Self::default() }
    }
}
