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

#[tokio::test]
async fn a_stranger_may_wait_as_long_as_few_are_there() {
    let connections = connections(9, 4, SOON);
    let (one, _two) = (connections.arrive(HERE), connections.arrive(HERE));
    assert!(timeout(SOON * 5, one.admission()).await.is_err(), "it may wait");
    let _three = connections.arrive(HERE);
    assert_eq!(one.admission().await, Err(TOO_LONG));
}
