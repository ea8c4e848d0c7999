//! Prometheus endpoint: HTTP/1.1, with one response per connection. Any peer that reaches the
//! address may connect. Therefore everything here has a limit, so that peers cannot take
//! descriptors, memory or time from the node's clients.

use std::{collections::VecDeque, io, net, sync::Arc, thread, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime,
    sync::Semaphore,
    task::{AbortHandle, yield_now},
    time::{sleep, timeout},
};
use tracing::warn;

/// Maximum number of open connections. A new connection replaces the oldest one.
const CONNECTIONS: usize = 16;

/// Maximum duration of a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum length of a request, in bytes. A scraper sends some hundred.
const REQUEST_BYTES: usize = 8 << 10;

/// HTTP path at which the endpoint serves the metrics.
pub const PATH: &str = "/metrics";

/// Accepts connections, and answers each request with the text that `page` returns, until the
/// process ends.
pub async fn serve(listener: TcpListener, page: impl Fn() -> String + Clone + Send + 'static) {
    // Creates one page at a time.
    let turns = Arc::new(Semaphore::new(1));
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // The cause is usually too many open files, which an immediate retry would not
                // change.
                warn!(%error, "cannot accept a connection to the metrics endpoint");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
            // Lets the oldest connection close before the loop accepts the next one.
            yield_now().await;
        }
        let answering = timeout(PATIENCE, answer(stream, page.clone(), turns.clone()));
        open.push_back(tokio::spawn(answering).abort_handle());
    }
}

/// Like [`serve`], but on a separate thread, for a program without a runtime.
pub fn serve_on_thread(
    listener: net::TcpListener,
    page: impl Fn() -> String + Clone + Send + 'static,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _inside = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let serving = move || runtime.block_on(serve(listener, page));
    thread::Builder::new().name("metrics".into()).spawn(serving).map(drop)
}

/// Answers the request of one connection.
async fn answer(
    mut stream: TcpStream,
    page: impl Fn() -> String + Send + 'static,
    turns: Arc<Semaphore>,
) -> io::Result<()> {
    let request = read_request(&mut stream).await?;
    let mut has_body = true;
    let (status, text) = match request.as_deref().map(parse_request) {
        None => ("431 Request Header Fields Too Large", "the request is too long\n".into()),
        Some(Err(status)) => (status, format!("use: GET {PATH}\n")),
        Some(Ok(part)) => {
            has_body = part == Part::Whole;
            let turn = turns.acquire_owned().await;
            let page = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                page()
            });
            ("200 OK", page.await.map_err(io::Error::other)?)
        }
    };
    let length = text.len();
    let allow = if status == NOT_ALLOWED { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\n{allow}Content-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    if has_body {
        stream.write_all(text.as_bytes()).await?;
    }
    stream.shutdown().await?;
    // Unread bytes would make the system reset the connection before the peer has read the
    // response.
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

/// Reads a request up to the empty line after its headers. Returns `None` if it is too long.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut request = vec![0; REQUEST_BYTES];
    let mut length = 0;
    while length < REQUEST_BYTES {
        let count = stream.read(&mut request[length..]).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // The empty line may arrive in pieces.
        let from = length.saturating_sub(3);
        length += count;
        if request[from..length].windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            request.truncate(length);
            return Ok(Some(request));
        }
    }
    Ok(None)
}

/// HTTP status of the response to a request whose method is neither GET nor HEAD.
const NOT_ALLOWED: &str = "405 Method Not Allowed";

/// Part of a response that a request asks for: GET asks for all of it, HEAD for its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Head,
}

/// Returns the part of the response that a request asks for. An error is the HTTP status with which
/// to refuse the request.
fn parse_request(request: &[u8]) -> Result<Part, &'static str> {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("400 Bad Request");
    };
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    match (method, path) {
        _ if !version.starts_with(b"HTTP/1.") => Err("400 Bad Request"),
        (b"GET", path) if path == PATH.as_bytes() => Ok(Part::Whole),
        (b"HEAD", path) if path == PATH.as_bytes() => Ok(Part::Head),
        (b"GET" | b"HEAD", _) => Err("404 Not Found"),
        _ => Err(NOT_ALLOWED),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    async fn endpoint() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, || "netdiv_ready 1\n".into()));
        address
    }

    /// Sends a request and returns the response.
    async fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        let read = timeout(PATIENCE / 2, stream.read_to_end(&mut answer)).await;
        read.expect("it answers at once").unwrap();
        String::from_utf8(answer).unwrap()
    }

    #[tokio::test]
    async fn it_answers_from_a_thread_of_its_own() {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        serve_on_thread(listener, || "netdiv_ready 1\n".into()).unwrap();
        assert!(ask(address, GET).await.ends_with("netdiv_ready 1\n"));
    }

    const GET: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";

    #[tokio::test]
    async fn a_head_has_the_length_and_no_body_and_other_methods_are_told_which_there_are() {
        let address = endpoint().await;
        let head = ask(address, b"HEAD /metrics HTTP/1.1\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("Content-Length: 15\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        let other = ask(address, b"DELETE /metrics HTTP/1.1\r\n\r\n").await;
        assert!(other.contains("\r\nAllow: GET, HEAD\r\n"), "{other}");
    }

    #[tokio::test]
    async fn it_answers_what_asks_for_the_metrics_and_nothing_else() {
        let address = endpoint().await;
        let page = ask(address, GET).await;
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(page.ends_with("\r\n\r\nnetdiv_ready 1\n"), "{page}");
        assert!(page.contains("Content-Length: 15\r\n"), "{page}");
        for (request, status) in [
            (&b"GET /metrics?a=b HTTP/1.0\r\n\r\n"[..], "200 OK"),
            (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            (b"GET /metrics\r\n\r\n", "400 Bad Request"),
            (b"GET /metrics SMTP\r\n\r\n", "400 Bad Request"),
            (b"HEAD / HTTP/1.1\r\n\r\n", "404 Not Found"),
            (b"\0\xff\r\n\r\n", "400 Bad Request"),
        ] {
            let answer = ask(address, request).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        }
    }

    #[tokio::test]
    async fn a_request_may_come_in_pieces_and_not_be_too_long() {
        let address = endpoint().await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        for piece in GET.chunks(3) {
            stream.write_all(piece).await.unwrap();
            sleep(Duration::from_millis(1)).await;
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains("netdiv_ready 1"), "{answer}");

        let long = [&b"GET /metrics HTTP/1.1\r\nX: "[..], &[b'x'; 2 * REQUEST_BYTES]].concat();
        let refused = ask(address, &long).await;
        assert!(refused.starts_with("HTTP/1.1 431 "), "{refused}");
    }
}
