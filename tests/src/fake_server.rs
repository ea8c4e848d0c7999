//! A scripted HTTP/1.1 server for tests of all crates.

#![allow(
    unreachable_pub,
    dead_code,
    reason = "crates include this file, and each uses a part of it"
)]
#![allow(clippy::unwrap_used, reason = "test support may panic")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Next step of the server on a connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends nothing until the client closes the connection.
    Hang,
    /// Sends these bytes over and over until the client closes the connection.
    Repeat(Vec<u8>),
    /// Closes the connection.
    Close,
}

/// A scripted server and the requests it received. Its threads end with the process.
#[derive(Debug)]
pub struct FakeServer {
    /// Base URL.
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
    /// Number of connections that the client closed during [`Step::Hang`].
    pub left: Arc<AtomicUsize>,
    /// Number of connections that clients opened.
    pub connections: Arc<AtomicUsize>,
}

/// Returns the steps for a request from the number of earlier requests, and from the request's
/// first line and body.
type Script = dyn Fn(usize, &str) -> Vec<Step> + Send + Sync;

impl FakeServer {
    /// Starts a server on a free port.
    pub fn start(script: impl Fn(usize, &str) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (requests, left) = (Arc::<Mutex<Vec<_>>>::default(), Arc::new(AtomicUsize::new(0)));
        let connections = Arc::new(AtomicUsize::new(0));
        let (seen, gone, count) = (requests.clone(), left.clone(), connections.clone());
        let script: Arc<Script> = Arc::new(script);
        thread::spawn(move || {
            for connection in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                let (seen, gone, script) = (seen.clone(), gone.clone(), script.clone());
                // A client that disconnects ends its connection, not the server.
                thread::spawn(move || drop(serve(connection.unwrap(), &seen, &gone, &*script)));
            }
        });
        Self { url, requests, left, connections }
    }

    /// Starts a server that takes the same steps for each request.
    pub fn always(acts: Vec<Step>) -> Self {
        Self::start(move |_, _| acts.clone())
    }

    /// Returns all received requests: first line and body.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    mut connection: TcpStream,
    seen: &Mutex<Vec<String>>,
    gone: &AtomicUsize,
    script: &Script,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    loop {
        let (mut request, mut line, mut length) = (String::new(), String::new(), 0);
        reader.read_line(&mut request)?;
        if request.is_empty() {
            return Ok(());
        }
        while reader.read_line(&mut line)? > 2 {
            if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        request.push_str(std::str::from_utf8(&body).unwrap());
        let number = seen.lock().unwrap().len();
        seen.lock().unwrap().push(request.clone());
        for act in script(number, &request) {
            match act {
                Step::Send(bytes) => connection.write_all(&bytes)?,
                Step::Hang => {
                    let _ = reader.read(&mut [0]);
                    gone.fetch_add(1, Ordering::SeqCst);
                    return Ok(());
                }
                Step::Repeat(bytes) => loop {
                    connection.write_all(&bytes)?;
                },
                Step::Close => return Ok(()),
            }
        }
    }
}

/// Returns the head of a response that streams events.
pub fn head() -> Step {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n";
    Step::Send(format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes())
}

/// Returns one chunk of a response.
pub fn chunk(bytes: &[u8]) -> Step {
    Step::Send([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

/// Returns a whole response with one event for each text.
pub fn events(data: &[&str]) -> Vec<Step> {
    let events = data.iter().map(|data| chunk(format!("data: {data}\n\n").as_bytes()));
    let end = Step::Send(b"0\r\n\r\n".to_vec());
    [head()].into_iter().chain(events).chain([end]).collect()
}

/// Returns a response that is not a stream.
pub fn refusal(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    vec![Step::Send([head.as_bytes(), body.as_bytes()].concat())]
}
