//! Relay between UDP sockets.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_transport::quic;
use tokio::{
    net::UdpSocket,
    sync::{mpsc, watch},
    time,
};

use super::{Direction, End, Wire, direction::Fate};

/// Maximum length of a datagram, in bytes.
const DATAGRAM_BYTES: usize = 65_535;

/// Maximum number of datagrams queued for a client's flow; the system drops the rest.
const WAITING: usize = 256;

pub(super) fn start(wire: Arc<Wire>) -> SocketAddr {
    let socket = open();
    let address = socket.local_addr().expect("bound");
    tokio::spawn(listen(Arc::new(socket), wire));
    address
}

fn open() -> UdpSocket {
    let socket = quic::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    UdpSocket::from_std(socket).expect("a runtime")
}

/// Passes each client's datagrams to its flow.
async fn listen(clients: Arc<UdpSocket>, wire: Arc<Wire>) {
    let mut flows = HashMap::<SocketAddr, mpsc::Sender<Vec<u8>>>::new();
    let mut buffer = vec![0; DATAGRAM_BYTES];
    loop {
        // An error concerns a datagram that was sent before: its receiver is gone.
        let Ok((length, client)) = clients.recv_from(&mut buffer).await else { continue };
        let flow = flows.entry(client).or_insert_with(|| {
            let (sender, datagrams) = mpsc::channel(WAITING);
            let ending = wire.end.subscribe();
            let node = open();
            let flow = Flow { clients: clients.clone(), client, node, wire: wire.clone() };
            tokio::spawn(flow.run(datagrams, ending));
            sender
        });
        // A flow that has ended stays silent.
        let _ = flow.send(buffer[..length].to_vec()).await;
    }
}

/// Datagrams between one client and the node.
struct Flow {
    clients: Arc<UdpSocket>,
    client: SocketAddr,
    /// Socket from which the relay sends this client's datagrams to the node.
    node: UdpSocket,
    wire: Arc<Wire>,
}

/// Datagrams on the wire, ordered by time of arrival and then by number.
type DatagramsInFlight = BTreeMap<(Instant, u64), (Direction, Vec<u8>)>;

impl Flow {
    async fn run(self, mut from_client: mpsc::Receiver<Vec<u8>>, mut ending: watch::Receiver<End>) {
        let mut buffer = vec![0; DATAGRAM_BYTES];
        let mut wire = DatagramsInFlight::new();
        let mut came = 0;
        loop {
            let next = wire.first_key_value().map(|((due, _), _)| *due);
            let (direction, mut datagram) = tokio::select! {
                () = sleep_until(next) => {
                    self.deliver_due(&mut wire).await;
                    continue;
                }
                Some(datagram) = from_client.recv() => (Direction::ToNode, datagram),
                received = self.node.recv_from(&mut buffer) => match received {
                    Ok((length, from)) if from == self.wire.node => {
                        (Direction::ToClient, buffer[..length].to_vec())
                    }
                    _ => continue,
                },
                _ = ending.changed() => return,
                else => return,
            };
            let fate = self.wire.way(direction).pass(&mut datagram, Instant::now());
            let Fate { due, lost, dropped, twice, last } = fate;
            if !lost && !dropped {
                let copies = if twice { 2 } else { 1 };
                for datagram in std::iter::repeat_n(datagram, copies) {
                    wire.insert((due, came), (direction, datagram));
                    came += 1;
                }
            }
            self.deliver_due(&mut wire).await;
            if last {
                return;
            }
        }
    }

    /// Delivers all datagrams that are due.
    async fn deliver_due(&self, wire: &mut DatagramsInFlight) {
        while let Some(first) = wire.first_entry()
            && first.key().0 <= Instant::now()
        {
            let (direction, datagram) = first.remove();
            // A datagram that cannot be delivered is lost, as on any wire.
            let _ = match direction {
                Direction::ToNode => self.node.send_to(&datagram, self.wire.node).await,
                Direction::ToClient => self.clients.send_to(&datagram, self.client).await,
            };
        }
    }
}

/// Waits until `due`, or for ever.
async fn sleep_until(due: Option<Instant>) {
    match due {
        // Tokio's clock has a resolution of milliseconds; it is never early.
        Some(due) => time::sleep_until(due.into()).await,
        None => time::sleep(Duration::MAX).await,
    }
}
