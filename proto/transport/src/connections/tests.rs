use super::*;

const SOON: Duration = Duration::from_millis(20);
const NEVER: Duration = Duration::from_secs(3600);
const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn connections(clients: usize, strangers: usize, first_call: Duration) -> Connections {
    Connections::with_strangers(clients, strangers, first_call, |_| ())
}

impl Connections {
    fn peers(&self) -> (usize, usize) {
        let peers = self.0.peers.lock();
        (peers.clients, peers.strangers.len())
    }
}

#[test]
fn places_are_for_clients_and_come_back() {
    let connections = connections(2, 9, NEVER);
    let guests: Vec<_> = (0..4).map(|_| connections.arrive(HERE)).collect();
    assert_eq!(connections.peers(), (0, 4), "a pending connection has no permit");
    for guest in &guests[..2] {
        guest.admit().unwrap();
        guest.admit().expect("a client's next call is admitted too");
    }
    assert_eq!(connections.peers(), (2, 2));
    let refused = guests[2].admit().unwrap_err();
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
    let words = "the node has 2 connections and accepts no more (--max-connections)";
    assert_eq!(refused.message(), words);
    let mut guests = guests.into_iter();
    drop(guests.next());
    guests.nth(1).unwrap().admit().expect("a permit is free again");
    drop(guests);
    assert_eq!(connections.peers(), (0, 0));
}

#[tokio::test]
async fn a_stranger_makes_room_and_no_client_does() {
    let connections = connections(9, 2, NEVER);
    let client = connections.arrive(HERE);
    client.admit().unwrap();
    let elsewhere = connections.arrive([10, 0, 0, 1].into());
    let one = connections.arrive(HERE);
    let judged = (one.admission(), elsewhere.admission());
    let newcomer = connections.arrive(HERE);
    assert_eq!(connections.peers(), (1, 2));
    assert_eq!(judged.0.await, Err(MADE_ROOM));
    assert_eq!(one.admit().unwrap_err().message(), MADE_ROOM, "it is too late");
    elsewhere.admit().unwrap();
    assert_eq!((judged.1.await, client.admission().await), (Ok(()), Ok(())));
    drop((one, elsewhere, newcomer));
    assert_eq!(connections.peers(), (1, 0));
}

#[test]
fn strangers_make_room_where_no_file_can_be_opened() {
    let connections = connections(9, 99, NEVER);
    let guests: Vec<_> = (0..ROOM + 2).map(|_| connections.arrive(HERE)).collect();
    guests[0].admit().unwrap();
    assert!(connections.make_room());
    assert_eq!(connections.peers(), (1, 1));
    assert!(connections.make_room() && !connections.make_room());
    assert_eq!(connections.peers(), (1, 0));
}

#[tokio::test]
async fn a_stranger_makes_so_many_calls_and_a_client_any() {
    let connections = connections(9, 9, NEVER);
    let (stranger, client) = (connections.arrive(HERE), connections.arrive(HERE));
    client.admit().unwrap();
    (0..STRANGER_CALLS).for_each(|_| stranger.count_refusal());
    assert!(timeout(SOON, stranger.admission()).await.is_err(), "it may stay");
    (0..=STRANGER_CALLS).for_each(|_| client.count_refusal());
    stranger.count_refusal();
    assert_eq!((stranger.admission().await, client.admission().await), (Err(TOO_MANY), Ok(())));
    assert_eq!(stranger.admit().unwrap_err().message(), TOO_MANY);
}

#[tokio::test]
async fn a_stranger_may_wait_as_long_as_few_are_there() {
    let connections = connections(9, 4, SOON);
    let (one, _two) = (connections.arrive(HERE), connections.arrive(HERE));
    assert!(timeout(SOON * 5, one.admission()).await.is_err(), "it may wait");
    let _three = connections.arrive(HERE);
    assert_eq!(one.admission().await, Err(TOO_LONG));
}

#[test]
fn streams_of_a_connection_are_limited_and_come_back() {
    let connections = connections(9, 9, NEVER);
    let (guest, other) = (connections.arrive(HERE), connections.arrive(HERE));
    let mut open: Vec<_> =
        (0..MAX_STREAMS_PER_CONNECTION).map(|_| guest.stream().unwrap()).collect();
    let refused = guest.stream().unwrap_err();
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
    assert!(refused.message().contains("has 64 streams of samples"), "{refused}");
    drop(other.stream().expect("another connection has its own streams"));
    open.pop();
    drop(guest.stream().expect("a stream has ended"));
}
