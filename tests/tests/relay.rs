//! The relay applies exactly its faults to bytes. Random faults have their tests in `direction.rs`;
//! `faults/network.rs` relies on flipped bits and cut messages over TCP.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    time::{Duration, Instant},
};

use e2e::{Direction, Faults, Relay, wait_until};

const MS: Duration = Duration::from_millis(1);

/// Time that a test waits for bytes that must not arrive.
const NOTHING: Duration = Duration::from_millis(150);

/// A node, a relay in front of it, and both ends of a connection through the relay.
struct Tcp {
    relay: Relay,
    client: TcpStream,
    node: TcpStream,
}

impl Tcp {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let relay = Relay::tcp(&listener.local_addr().expect("bound").to_string());
        let client = TcpStream::connect(&relay.address).expect("connects");
        let (node, _) = listener.accept().expect("is connected");
        Self { relay, client, node }
    }

    /// Asserts that nothing arrives within [`NOTHING`].
    fn nothing_comes(&mut self) {
        self.node.set_read_timeout(Some(NOTHING)).expect("a limit");
        let error = self.node.read(&mut [0]).expect_err("nothing arrives");
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
        self.node.set_read_timeout(None).expect("no limit");
    }

    fn node_reads(&mut self, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        self.node.read_exact(&mut read).expect("it arrives");
        read
    }
}

fn ones(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| byte.count_ones()).sum()
}

#[test]
fn tcp_passes_as_it_is_and_closes_half_by_half() {
    let Tcp { relay, mut client, mut node } = Tcp::open();
    let sent: Vec<u8> = (0..16 << 20).map(|at: u32| (at >> 3) as u8 ^ at as u8).collect();
    let expected = sent.clone();
    let echo = std::thread::spawn(move || {
        let mut all = Vec::new();
        node.read_to_end(&mut all).expect("to its end");
        node.write_all(&all).expect("sends");
    });
    client.write_all(&sent).expect("sends");
    client.shutdown(std::net::Shutdown::Write).expect("closes its half");
    let mut back = Vec::new();
    client.read_to_end(&mut back).expect("to its end");
    echo.join().expect("the node has ended");
    assert!(back == expected, "different bytes returned");
    assert_eq!(relay.counts(Direction::ToNode).bytes, 16 << 20);
}

#[test]
fn tcp_is_late_after_a_delay_or_a_loss() {
    for faults in [
        Faults { delay: 200 * MS, ..Faults::none() },
        Faults { loss: 1.0, ..Faults::none() },
        Faults { bytes_per_second: Some(5), ..Faults::none() },
    ] {
        let mut tcp = Tcp::open();
        tcp.relay.set_one_way(Direction::ToNode, faults);
        let begin = Instant::now();
        tcp.client.write_all(b"x").expect("sends");
        tcp.nothing_comes();
        assert_eq!(tcp.node_reads(1), b"x");
        assert!(begin.elapsed() >= 200 * MS, "{faults:?}: {:?}", begin.elapsed());
        // The other direction has no fault.
        tcp.node.write_all(b"y").expect("sends");
        tcp.client.set_read_timeout(Some(100 * MS)).expect("a limit");
        tcp.client.read_exact(&mut [0]).expect("arrives at once");
    }
}

#[test]
fn tcp_has_the_rate_of_a_slow_link() {
    let mut tcp = Tcp::open();
    tcp.relay.set(Faults { bytes_per_second: Some(1_000_000), ..Faults::none() });
    let begin = Instant::now();
    let mut client = tcp.client.try_clone().expect("a second handle");
    let sending = std::thread::spawn(move || client.write_all(&[7; 500_000]));
    assert_eq!(tcp.node_reads(500_000), [7; 500_000]);
    sending.join().expect("no panic").expect("all was sent");
    let took = begin.elapsed();
    assert!((490 * MS..1500 * MS).contains(&took), "{took:?}");
}

#[test]
fn tcp_is_cut_and_whole_again() {
    let mut tcp = Tcp::open();
    tcp.relay.set_one_way(Direction::ToNode, Faults::cut());
    tcp.client.write_all(b"late").expect("the system accepts it");
    tcp.nothing_comes();
    tcp.relay.set(Faults::none());
    assert_eq!(tcp.node_reads(4), b"late");
    // A cut wire does not report an end either.
    tcp.relay.set(Faults::cut());
    tcp.client.shutdown(std::net::Shutdown::Both).expect("ends");
    tcp.nothing_comes();
    tcp.relay.set(Faults::none());
    assert_eq!(tcp.node.read(&mut [0]).expect("the end"), 0);
}

#[test]
fn tcp_ends_as_it_is_told() {
    let Tcp { relay, mut client, mut node } = Tcp::open();
    // Unread bytes must not change how the connection ends.
    client.write_all(&[1; 1000]).expect("sends");
    wait_until("it has passed", || relay.counts(Direction::ToNode).bytes == 1000);
    relay.close();
    assert_eq!(client.read(&mut [0]).expect("a clean end"), 0);
    let mut read = Vec::new();
    node.read_to_end(&mut read).expect("a clean end");

    let Tcp { relay, mut client, mut node } = Tcp::open();
    relay.reset();
    for end in [&mut client, &mut node] {
        assert_eq!(end.read(&mut [0]).expect_err("reset").kind(), ErrorKind::ConnectionReset);
    }
}

#[test]
fn tcp_word_of_a_lost_node_passes() {
    let Tcp { mut client, node, relay: _relay } = Tcp::open();
    drop(node);
    assert_eq!(client.read(&mut [0]).expect("a clean end"), 0);
    let unused = Relay::tcp("127.0.0.1:1");
    let mut client = TcpStream::connect(&unused.address).expect("the relay listens");
    assert_eq!(client.read(&mut [0]).expect_err("reset").kind(), ErrorKind::ConnectionReset);
}

/// Starts a node that sends each datagram back, and a relay in front of it.
fn udp() -> Relay {
    let node = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = node.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        let mut datagram = [0; 65_535];
        while let Ok((length, from)) = node.recv_from(&mut datagram) {
            node.send_to(&datagram[..length], from).expect("sends");
        }
    });
    Relay::udp(&address)
}

fn client(relay: &Relay) -> UdpSocket {
    let client = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    client.connect(&relay.address).expect("an address");
    client
}

/// Returns the next datagram, if one arrives in time.
fn receive(client: &UdpSocket, limit: Duration) -> Option<Vec<u8>> {
    client.set_read_timeout(Some(limit)).expect("a limit");
    let mut datagram = [0; 65_535];
    client.recv(&mut datagram).ok().map(|length| datagram[..length].to_vec())
}

const SOON: Duration = Duration::from_secs(10);

#[test]
fn udp_gives_each_client_its_own_answers() {
    let relay = udp();
    let clients: Vec<_> = (0..20).map(|_| client(&relay)).collect();
    for (number, client) in (0..).zip(&clients) {
        client.send(&[number, number]).expect("sends");
    }
    for (number, client) in (0..).zip(&clients) {
        assert_eq!(receive(client, SOON).expect("an answer"), [number, number]);
        // One at a time: a socket's buffer would drop more.
        client.send(&[number; 60_000]).expect("sends");
        assert!(receive(client, SOON).expect("an answer") == [number; 60_000]);
    }
}

#[test]
fn udp_is_late_after_a_delay() {
    let relay = udp();
    let client = client(&relay);
    relay.set(Faults { delay: 100 * MS, ..Faults::none() });
    let begin = Instant::now();
    client.send(b"x").expect("sends");
    assert_eq!(receive(&client, SOON).expect("an answer"), b"x");
    assert!(begin.elapsed() >= 200 * MS, "{:?}", begin.elapsed());
}

#[test]
fn udp_loses_datagrams() {
    let slow = Faults { bytes_per_second: Some(1), ..Faults::none() };
    for faults in [Faults::cut(), Faults { loss: 1.0, ..Faults::none() }, slow] {
        let relay = udp();
        let client = client(&relay);
        relay.set_one_way(Direction::ToClient, faults);
        client.send(b"lost").expect("sends");
        assert_eq!(receive(&client, NOTHING), None, "{faults:?}");
        relay.set(Faults::none());
        if faults != slow {
            client.send(b"not lost").expect("sends");
            assert_eq!(receive(&client, SOON).expect("an answer"), b"not lost");
        }
        let counts = relay.counts(Direction::ToClient);
        assert_eq!(counts.lost + counts.dropped, u64::from(faults != slow));
        assert_eq!(relay.counts(Direction::ToNode).lost, 0);
    }
}

#[test]
fn udp_comes_twice_and_out_of_order() {
    let relay = udp();
    let client = client(&relay);
    relay.set_one_way(Direction::ToNode, Faults { duplicate: 1.0, ..Faults::none() });
    client.send(b"twice").expect("sends");
    for _ in 0..2 {
        assert_eq!(receive(&client, SOON).expect("an answer"), b"twice");
    }
    assert_eq!(receive(&client, NOTHING), None);
    // The first is delayed for longer than both are apart on any but the slowest machine; otherwise
    // the loop repeats.
    wait_until("the second overtakes the first", || {
        relay.set_one_way(Direction::ToNode, Faults { reorder: 1.0, ..Faults::none() });
        let before = relay.counts(Direction::ToNode).pieces;
        client.send(b"1").expect("sends");
        wait_until("the first is on its way", || relay.counts(Direction::ToNode).pieces > before);
        relay.set_one_way(Direction::ToNode, Faults::none());
        client.send(b"2").expect("sends");
        let came = [receive(&client, SOON), receive(&client, SOON)];
        came == [Some(b"2".to_vec()), Some(b"1".to_vec())]
    });
}

#[test]
fn udp_is_damaged_and_falls_silent() {
    let relay = udp();
    let old = client(&relay);
    relay.set_one_way(Direction::ToNode, Faults { flip_every: Some(2), ..Faults::none() });
    for expected in [0, 1, 0, 1] {
        old.send(&[0; 1000]).expect("sends");
        assert_eq!(ones(&receive(&old, SOON).expect("an answer")), expected);
    }
    relay.set(Faults { truncate_at: Some(10), ..Faults::none() });
    old.send(&[0; 20]).expect("sends");
    assert_eq!(receive(&old, NOTHING), None);
    assert_eq!(relay.counts(Direction::ToNode).truncated, 1);
    // The flow stays silent; another client's flow does not.
    relay.set(Faults::none());
    old.send(b"x").expect("sends");
    assert_eq!(receive(&old, NOTHING), None);
    let new = client(&relay);
    new.send(b"x").expect("sends");
    assert_eq!(receive(&new, SOON).expect("an answer"), b"x");
    relay.reset();
    // The flow must detect the fault first.
    wait_until("it is silent", || {
        new.send(b"x").expect("sends");
        receive(&new, NOTHING).is_none()
    });
}
