//! Relay between TCP connections.

use std::{
    io::{self, ErrorKind},
    net::{Shutdown, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{mpsc, watch},
    time,
};

use super::{End, Wire, direction::WireDirection};

/// Maximum length of one read, in bytes.
const PIECE_BYTES: usize = 128 << 10;

/// Maximum number of pieces on the wire. With long pieces this is 32 MiB, or 50 ms at 640 MB/s.
const PIECES: usize = 256;

/// Receive buffer of the system. Without this limit it grows to some megabytes, and a heartbeat
/// would wait behind seconds of a slow link.
const SYSTEM_BUFFER_BYTES: u32 = 256 << 10;

/// Delay of a lost piece: the minimum time after which Linux retransmits a segment.
const RESEND: Duration = Duration::from_millis(200);

/// Maximum time for a peer to close its half of a connection after the relay has closed its own
/// half.
const CLOSING_TIME: Duration = Duration::from_secs(1);

pub(super) fn start(wire: Arc<Wire>) -> SocketAddr {
    let socket = socket().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let listener = socket.listen(1024).expect("listens");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(accept(listener, wire));
    address
}

fn socket() -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Accepted connections inherit it from their listener.
    socket.set_recv_buffer_size(SYSTEM_BUFFER_BYTES)?;
    Ok(socket)
}

async fn accept(listener: TcpListener, wire: Arc<Wire>) {
    while let Ok((client, _)) = listener.accept().await {
        let ending = wire.end.subscribe();
        tokio::spawn(connection(client, wire.clone(), ending));
    }
}

async fn connection(client: TcpStream, wire: Arc<Wire>, mut ending: watch::Receiver<End>) {
    wire.to_node.wait_until_uncut().await;
    let connecting = async { socket()?.connect(wire.node).await };
    let Ok(node) = connecting.await else { return reset(&client) };
    let _ = (client.set_nodelay(true), node.set_nodelay(true));
    let passing = async {
        tokio::try_join!(pass(&client, &node, &wire.to_node), pass(&node, &client, &wire.to_client))
    };
    let end = tokio::select! {
        passed = passing => match passed {
            Ok(_) => return,
            Err(end) => end,
        },
        _ = ending.changed() => *ending.borrow_and_update(),
    };
    match end {
        End::Reset => {
            reset(&client);
            reset(&node);
        }
        End::Closed => {
            tokio::join!(close(&client), close(&node));
        }
    }
}

/// Arranges for an RST when the stream is dropped.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

/// Closes the relay's half of a connection, and reads the peer's half to its end: unread bytes
/// would turn the FIN into an RST.
async fn close(stream: &TcpStream) {
    let _ = SockRef::from(stream).shutdown(Shutdown::Write);
    let _ = time::timeout(CLOSING_TIME, async {
        let mut rest = vec![0; PIECE_BYTES];
        while read(stream, &mut rest).await.is_ok_and(|bytes| bytes > 0) {}
    })
    .await;
}

/// Relays one direction until its sender closes its half.
async fn pass(from: &TcpStream, to: &TcpStream, way: &WireDirection) -> Result<(), End> {
    let (sender, pieces) = mpsc::channel(PIECES);
    tokio::try_join!(read_pieces(from, way, sender), write_pieces(to, way, pieces)).map(drop)
}

struct Piece {
    bytes: Vec<u8>,
    due: Instant,
    last: bool,
}

async fn read_pieces(
    from: &TcpStream,
    way: &WireDirection,
    pieces: mpsc::Sender<Piece>,
) -> Result<(), End> {
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        if let Some(room) = way.room_at() {
            time::sleep_until(room.into()).await;
        }
        let read = read(from, &mut buffer[..way.piece_bytes(PIECE_BYTES)]).await;
        let length = match read {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(_) => {
                // A wire that is cut does not pass a reset either.
                way.wait_until_uncut().await;
                return Err(End::Reset);
            }
        };
        let mut bytes = buffer[..length].to_vec();
        let fate = way.pass(&mut bytes, Instant::now());
        let due = fate.due + if fate.lost { RESEND } else { Duration::ZERO };
        let piece = Piece { bytes, due, last: fate.last };
        if pieces.send(piece).await.is_err() || fate.last {
            return Ok(());
        }
    }
}

async fn write_pieces(
    to: &TcpStream,
    way: &WireDirection,
    mut pieces: mpsc::Receiver<Piece>,
) -> Result<(), End> {
    while let Some(piece) = pieces.recv().await {
        if piece.due > Instant::now() {
            time::sleep_until(piece.due.into()).await;
        }
        way.wait_until_uncut().await;
        write(to, &piece.bytes).await.map_err(|_| End::Reset)?;
        if piece.last {
            return Err(End::Closed);
        }
    }
    way.wait_until_uncut().await;
    let _ = SockRef::from(to).shutdown(Shutdown::Write);
    Ok(())
}

async fn read(from: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        from.readable().await?;
        match from.try_read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

async fn write(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        to.writable().await?;
        match to.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
