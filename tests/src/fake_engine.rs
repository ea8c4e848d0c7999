//! A serving engine as vLLM is one, seen from its clients: outputs of token ids over HTTP, and whatever goes wrong on request.

use std::{
    io::{self, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

/// Tokens of every output.
pub const OUTPUT_TOKENS: usize = 8;

/// What a SUT node has to know of the model that it serves.
pub const MODEL: &str =
    "name = 'tiny'\nvocabulary = 32000\nmax_input_tokens = 1024\nmax_tokens = 8\n";

/// Requests of a node's probe, which come before those of samples.
pub const PROBE: usize = 2;

/// How far an answer gets before something goes wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// So many tokens.
    Tokens(usize),
    /// All that the client waits for.
    End,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// The connection is closed.
    Closed,
    /// Nothing more comes until the client gives up.
    Silent,
    /// An error in the stream of events.
    Error,
    /// Nothing, but that it had a token of the prompt from another one.
    Cached,
}

/// What goes wrong, and with the answers to which requests.
#[derive(Debug, Clone)]
pub struct Mishap {
    /// By the number of those before them.
    pub requests: Range<usize>,
    /// How far such an answer gets.
    pub after: After,
    /// What happens then.
    pub wrong: Wrong,
}

/// A running engine. Its thread ends with the process.
#[derive(Debug)]
pub struct FakeEngine {
    /// Where it listens.
    pub url: String,
}

impl FakeEngine {
    /// Starts one on a free port.
    pub fn start(mishap: Option<Mishap>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let requests = Arc::new(AtomicUsize::new(0));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (requests, mishap) = (requests.clone(), mishap.clone());
                // A client that leaves ends its connection, not the server.
                thread::spawn(move || drop(serve(&connection, &requests, mishap.as_ref())));
            }
        });
        Self { url }
    }
}

/// Answers the requests of a connection.
fn serve(
    mut connection: &TcpStream,
    requests: &AtomicUsize,
    mishap: Option<&Mishap>,
) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    while let Some(request) = read_request(&mut reader)? {
        let number = requests.fetch_add(1, Ordering::SeqCst);
        let mishap = mishap.filter(|mishap| mishap.requests.contains(&number));
        connection.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        let cached = u8::from(mishap.is_some_and(|mishap| mishap.wrong == Wrong::Cached));
        for (place, event) in answer(&request, cached).iter().enumerate() {
            if let Some(mishap) = mishap.filter(|mishap| mishap.after == After::Tokens(place)) {
                return go_wrong(mishap.wrong, connection, &mut reader);
            }
            send(connection, event)?;
        }
        if let Some(mishap) = mishap.filter(|mishap| mishap.after == After::End) {
            go_wrong(mishap.wrong, connection, &mut reader)?;
            if mishap.wrong != Wrong::Cached {
                return Ok(());
            }
        }
        connection.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

/// The body of the next request; `None` at the end of the connection, and for what is no completion.
fn read_request(reader: &mut impl io::BufRead) -> io::Result<Option<Value>> {
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body).ok())
}

/// The data of an answer's events: a token each, which the prompt decides, and then what ends it.
fn answer(request: &Value, cached: u8) -> Vec<String> {
    let prompt = request["prompt"].as_array().map_or(&[][..], Vec::as_slice);
    let most = request["max_tokens"].as_u64().map_or(0, |most| most as usize);
    let token = |place: usize| {
        let reason = (place + 1 == most).then_some("length");
        let id = &prompt[place % prompt.len()];
        json!({ "choices": [{ "index": 0, "token_ids": [id], "finish_reason": reason }] })
    };
    let (read, made) = (prompt.len(), most);
    let details = json!({ "cached_tokens": cached });
    let usage = json!({
        "choices": [],
        "usage": {
            "prompt_tokens": read, "completion_tokens": made, "prompt_tokens_details": details,
        },
    });
    let events = (0..most).map(token).chain([usage]).map(|event| event.to_string());
    events.chain(["[DONE]".into()]).collect()
}

fn send(mut connection: &TcpStream, data: &str) -> io::Result<()> {
    let event = format!("data: {data}\n\n");
    connection.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
}

fn go_wrong(wrong: Wrong, connection: &TcpStream, reader: &mut impl io::BufRead) -> io::Result<()> {
    match wrong {
        Wrong::Closed | Wrong::Cached => Ok(()),
        Wrong::Silent => reader.read(&mut [0]).map(drop),
        Wrong::Error => send(connection, r#"{"error":{"message":"CUDA error","code":500}}"#),
    }
}
