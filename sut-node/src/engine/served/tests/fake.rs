//! A serving engine that does as it is told, and a client of it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use netdiv_transport::security::ClientTls;
use parking_lot::Mutex;
use tokio::runtime::Builder;

use crate::{
    engine::{
        remote::{servers::Servers, taken::Taken, testing::PROMPT},
        served::{exchange::Exchange, output::Remarks},
    },
    ground::error::EngineError,
    model::served::ServedModel,
    settings::served::{Dialect, ServedConfig, ServersConfig},
};

/// What the server does next on a connection.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Send(Vec<u8>),
    /// Says nothing until the client closes the connection.
    Hang,
    /// Sends this until the client closes the connection.
    Repeat(Vec<u8>),
    Close,
}

/// The server, and what it has seen.
pub(super) struct Fake {
    pub(super) url: String,
    pub(super) requests: Arc<Mutex<Vec<String>>>,
    /// Connections that the client closed while it was to wait.
    pub(super) left: Arc<AtomicUsize>,
    pub(super) connections: Arc<AtomicUsize>,
}

/// What it does for a request: how many came before, and its first line and body.
type Script = dyn Fn(usize, &str) -> Vec<Act> + Send + Sync;

impl Fake {
    pub(super) fn start(script: impl Fn(usize, &str) -> Vec<Act> + Send + Sync + 'static) -> Self {
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
                // A client that leaves ends its connection, not the server.
                thread::spawn(move || drop(serve(connection.unwrap(), &seen, &gone, &*script)));
            }
        });
        Self { url, requests, left, connections }
    }

    pub(super) fn always(acts: Vec<Act>) -> Self {
        Self::start(move |_, _| acts.clone())
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
        let number = seen.lock().len();
        seen.lock().push(request.clone());
        for act in script(number, &request) {
            match act {
                Act::Send(bytes) => connection.write_all(&bytes)?,
                Act::Hang => {
                    let _ = reader.read(&mut [0]);
                    gone.fetch_add(1, Ordering::SeqCst);
                    return Ok(());
                }
                Act::Repeat(bytes) => loop {
                    connection.write_all(&bytes)?;
                },
                Act::Close => return Ok(()),
            }
        }
    }
}

/// The beginning of an answer of events.
pub(super) fn head() -> Act {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n";
    Act::Send(format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes())
}

/// A part of an answer.
pub(super) fn chunk(bytes: &[u8]) -> Act {
    Act::Send([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

/// A whole answer, each text an event's data.
pub(super) fn events(data: &[&str]) -> Vec<Act> {
    let events = data.iter().map(|data| chunk(format!("data: {data}\n\n").as_bytes()));
    let end = Act::Send(b"0\r\n\r\n".to_vec());
    [head()].into_iter().chain(events).chain([end]).collect()
}

/// An answer that is no stream.
pub(super) fn refusal(status: &str, headers: &str, body: &str) -> Vec<Act> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    vec![Act::Send([head.as_bytes(), body.as_bytes()].concat())]
}

/// A recorded answer: its head, and its body.
pub(super) fn recorded(name: &str) -> (String, Vec<u8>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/engines");
    let answer = std::fs::read(path.join(format!("{name}.response.txt"))).unwrap();
    let text = String::from_utf8(answer).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").or_else(|| text.split_once("\n\n")).unwrap();
    let is_of_transfer = |line: &str| {
        ["transfer-encoding", "content-length", "connection", "keep-alive"]
            .iter()
            .any(|name| line.to_lowercase().starts_with(name))
    };
    let head: Vec<_> = head.lines().filter(|line| !is_of_transfer(line)).collect();
    (head.join("\r\n"), body.as_bytes().to_vec())
}

/// A recorded answer, sent in pieces of so many bytes.
pub(super) fn replay(name: &str, piece: usize) -> Vec<Act> {
    let (head, body) = recorded(name);
    let head = format!("{head}\r\ntransfer-encoding: chunked\r\n\r\n");
    let pieces = body.chunks(piece).map(chunk);
    let (head, end) = (Act::Send(head.into_bytes()), Act::Send(b"0\r\n\r\n".to_vec()));
    [head].into_iter().chain(pieces).chain([end]).collect()
}

pub(super) fn settings(urls: &[&str], dialect: Dialect, model: ServedModel) -> ServedConfig {
    ServedConfig {
        servers: ServersConfig {
            urls: urls.iter().map(|url| url.parse().unwrap()).collect(),
            token: None,
            tls: ClientTls::trusting_nobody().unwrap(),
            timeout: Duration::from_secs(20),
        },
        dialect,
        model,
    }
}

/// Long enough for what a fault's words expect: an answer, or that none comes.
pub(super) fn patience(words: &str) -> Duration {
    Duration::from_millis(if words.contains("nothing came for") { 2000 } else { 20_000 })
}

/// Asks once: the tokens that came, and how it ended.
pub(super) fn ask(settings: &ServedConfig) -> (Vec<i32>, Result<Remarks, EngineError>) {
    let exchange = Exchange::new(Arc::new(settings.clone()));
    let servers = Servers::new(&settings.servers.urls);
    let mut taken = Taken::default();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(exchange.ask(|busy| servers.pick(busy), &PROMPT, &mut taken));
    (taken.0, outcome.map(|(remarks, _)| remarks))
}
