//! An HTTP/2 server for tests, which sends scripted frames.

use std::{
    io::{self, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;

/// Flags: end of a stream, end of its headers, and acknowledgement.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// Length of the client's preface before its first frame, in bytes.
const PREFACE_BYTES: usize = 24;

/// A server that counts the requests it receives.
pub(crate) struct Http2Peer {
    /// Address as `HOST:PORT`.
    pub(crate) address: String,
    requests: Arc<AtomicUsize>,
}

/// Function that returns the frames that answer a request. It receives the number of earlier
/// requests, and the request's stream.
type FrameScript = dyn Fn(usize, u32) -> Vec<u8> + Send + Sync;

impl Http2Peer {
    pub(crate) fn start(script: impl Fn(usize, u32) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::<AtomicUsize>::default();
        let (seen, script): (_, Arc<FrameScript>) = (requests.clone(), Arc::new(script));
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (seen, script) = (seen.clone(), script.clone());
                // A client that leaves ends its connection, but not the server.
                thread::spawn(move || drop(serve(connection.unwrap(), &seen, &*script)));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn serve(mut connection: TcpStream, seen: &AtomicUsize, script: &FrameScript) -> io::Result<()> {
    connection.read_exact(&mut [0; PREFACE_BYTES])?;
    connection.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    loop {
        let mut header = [0; 9];
        connection.read_exact(&mut header)?;
        let [a, b, c, kind, flags, stream @ ..] = header;
        let length = u32::from_be_bytes([0, a, b, c]);
        connection.read_exact(&mut vec![0; length as usize])?;
        match kind {
            SETTINGS if flags & ACK == 0 => connection.write_all(&frame(SETTINGS, ACK, 0, &[]))?,
            DATA | HEADERS if flags & END_STREAM != 0 => {
                let number = seen.fetch_add(1, Ordering::SeqCst);
                connection.write_all(&script(number, u32::from_be_bytes(stream)))?;
            }
            _ => {}
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns a frame that ends the connection before any request is processed.
pub(crate) fn go_away(code: u32, text: &str) -> Vec<u8> {
    frame(GO_AWAY, 0, 0, &[&[0; 4], &code.to_be_bytes()[..], text.as_bytes()].concat())
}

/// Returns a frame that ends one request with an error code.
pub(crate) fn rst_stream(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// Returns the frame that begins a response, with status 200 and this content type. The header
/// `content-type` is encoded by its number in HPACK's static table.
pub(crate) fn head(stream: u32, content_type: &str) -> Vec<u8> {
    let length = u8::try_from(content_type.len()).unwrap();
    let fields = [&[0x88, 0x0f, 0x10, length], content_type.as_bytes()].concat();
    frame(HEADERS, END_HEADERS, stream, &fields)
}

/// Returns a frame with a part of a response's body.
pub(crate) fn data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, bytes)
}

/// Returns a frame that ends a response.
pub(crate) fn end(stream: u32) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, &[])
}
