//! Test of inline polls: a message is sent on the thread that has it, while no other thread drives
//! the connection.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::runtime::Builder;

use super::{ids, infer, node::TestNode, open, options, requests};
use crate::{Transport, poll_inline};

/// Starts a relay for one connection to a node. Returns its address, and a counter of the bytes
/// that it has sent to the node.
fn counting_relay(node: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    thread::spawn(move || {
        let (mut client, mut node) =
            (listener.accept().unwrap().0, TcpStream::connect(node).unwrap());
        let (mut back, mut to_client) = (node.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut back, &mut to_client));
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = client.read(&mut bytes) {
            node.write_all(&bytes[..read]).unwrap();
            counted.fetch_add(read, Ordering::SeqCst);
        }
        node.shutdown(Shutdown::Write).unwrap();
    });
    (address, count)
}

#[test]
fn a_message_goes_out_while_its_connection_is_not_polled() {
    let far = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let node = far.block_on(TestNode::default().serve(Transport::Grpc));
    let (address, count) = counting_relay(node.address);
    let near = Builder::new_current_thread().enable_all().build().unwrap();
    let (connection, sender, mut replies) = near.block_on(async {
        let connection = open(address, &options(Transport::Grpc)).await.unwrap();
        let (sender, replies) = infer(&connection).await.unwrap();
        // Waits until the messages of the opening are sent.
        tokio::time::sleep(Duration::from_millis(100)).await;
        (connection, sender, replies)
    });
    let before = count.load(Ordering::SeqCst);
    sender.try_send(requests(&[1], 5).into()).unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(count.load(Ordering::SeqCst), before, "no thread drives it");
    near.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
    let between = count.load(Ordering::SeqCst);
    assert!(between > before);
    poll_inline(|| sender.try_send(requests(&[2], 5).into())).unwrap();
    let patience = Instant::now() + Duration::from_secs(10);
    while count.load(Ordering::SeqCst) == between {
        assert!(Instant::now() < patience, "it is not sent");
        thread::sleep(Duration::from_millis(1));
    }
    drop(sender);
    let (got, end) = near.block_on(ids(&mut replies));
    assert_eq!((got, end.is_ok()), (vec![1, 2], true));
    drop((connection, replies, near, node, far));
}
