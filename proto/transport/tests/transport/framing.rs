//! Tests of replies that arrive in pieces.

use bytes::Bytes;
use netdiv_contract::limits::MAX_MESSAGE_BYTES;
use tonic::Code;

use super::{
    BOTH, cut,
    fake_node::{self, Then},
    ids, infer, open, options, prefix, responses,
};
use crate::Transport;

/// Returns streams that begin with the messages `good` and are damaged after them, each with the
/// expected code and text of the refusal.
fn damaged(good: &[u8]) -> [(Vec<u8>, Code, &'static str); 5] {
    let then = |bad: &[u8]| [good, bad].concat();
    [
        (then(&good[..good.len() - 1]), Code::InvalidArgument, "ended in the middle of a message"),
        (then(&[0, 0, 0]), Code::InvalidArgument, "ended in the middle of a message"),
        (then(&prefix(1, 0)), Code::Unimplemented, "flag 1"),
        (then(&prefix(0, MAX_MESSAGE_BYTES + 1)), Code::OutOfRange, "message too large"),
        (then(&[0, 0, 0, 0, 1, 0xff]), Code::InvalidArgument, "damaged message"),
    ]
}

/// Returns the result of a client that reads from a fake node.
async fn read(
    transport: Transport,
    pieces: Vec<Bytes>,
    then: Then,
) -> (Vec<u64>, Result<(), tonic::Status>) {
    let address = fake_node::answer(transport, pieces, then).await;
    let connection = open(address, &options(transport)).await.unwrap();
    let (_requests, mut replies) = infer(&connection).await.unwrap();
    ids(&mut replies).await
}

#[tokio::test]
async fn a_client_reads_messages_in_any_pieces() {
    for transport in BOTH {
        let short = responses(&[1, 2, 3], 5);
        let long = responses(&[1, 2, 3], 50_000);
        for (bytes, pieces_of) in [(&short, 1), (&short, 7), (&short, short.len()), (&long, 9001)] {
            for then in [Then::Status(Code::Ok), Then::Ends] {
                let (ids, end) = read(transport, cut(bytes, pieces_of), then).await;
                assert_eq!(ids, [1, 2, 3]);
                assert!(end.is_ok(), "{end:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_takes_what_comes_before_damage_and_says_what_is_wrong() {
    for transport in BOTH {
        for (bytes, code, why) in damaged(&responses(&[1], 5)) {
            let (ids, end) = read(transport, cut(&bytes, 4), Then::Ends).await;
            let status = end.unwrap_err();
            assert_eq!((&ids[..], status.code()), (&[1][..], code), "{status}");
            assert!(status.message().contains(why), "{status}");
        }
        let (ids, end) =
            read(transport, cut(&responses(&[1], 5), 4), Then::Status(Code::Aborted)).await;
        assert_eq!((ids, end.unwrap_err().code()), (vec![1], Code::Aborted));
    }
}
