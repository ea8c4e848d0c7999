//! A serving engine without a model, `bench serve-completions TPOT_US`: it streams
//! `/v1/completions` as vLLM does, one token every TPOT_US microseconds; with 0, as fast as its
//! clients read.

use std::{
    collections::HashMap,
    error::Error,
    io::{self, BufReader, Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::runs::{PROMPT, VOCABULARY, ids};
use crate::server::announced;

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                      transfer-encoding: chunked\r\n\r\n";

/// Serves until the process ends.
pub fn serve(args: &[String]) -> Result<(), Box<dyn Error>> {
    let [tpot_us] = args else { return Err("usage: bench serve-completions TPOT_US".into()) };
    let tpot = Duration::from_micros(tpot_us.parse()?);
    let listener = announced()?;
    let prompt: Arc<[i32]> = ids(0).into();
    for connection in listener.incoming() {
        let (connection, prompt) = (connection?, prompt.clone());
        // A client that disconnects ends its connection, not the server.
        thread::spawn(move || drop(converse(connection, &prompt, tpot)));
    }
    Ok(())
}

fn converse(mut connection: TcpStream, prompt: &[i32], tpot: Duration) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut answers = HashMap::new();
    while let Some(body) = request(&mut reader)? {
        let tokens = number_behind("\"max_tokens\":", &body).ok_or(io::ErrorKind::InvalidData)?;
        let events: &Vec<Vec<u8>> = answers.entry(tokens).or_insert_with(|| events(prompt, tokens));
        connection.write_all(HEAD)?;
        if tpot.is_zero() {
            connection.write_all(&events.concat())?;
            continue;
        }
        let mut due = Instant::now();
        for event in events {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            connection.write_all(event)?;
            due += tpot;
        }
    }
    Ok(())
}

/// Returns the body of the next request; `None` when the client has closed the connection.
fn request(reader: &mut impl io::BufRead) -> io::Result<Option<String>> {
    let (mut line, mut length) = (String::new(), 0);
    // An empty line ends the head.
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        }
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    Ok(Some(body))
}

fn number_behind(key: &str, text: &str) -> Option<usize> {
    let (_, rest) = text.split_once(key)?;
    let rest = rest.trim_start();
    rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

/// Returns the events of an output, each as a chunk of HTTP, and the end.
fn events(prompt: &[i32], tokens: usize) -> Vec<Vec<u8>> {
    let envelope = |choices: serde_json::Value| {
        json!({
            "id": "cmpl-9628ea0ba4a95dd5", "object": "text_completion", "created": 1_795_327_662,
            "model": "bench", "choices": choices,
        })
    };
    let token = |place: usize| {
        let finish = (place + 1 == tokens).then_some("length");
        envelope(json!([{
            "index": 0, "text": "", "logprobs": null, "finish_reason": finish, "stop_reason": null,
            "prompt_token_ids": (place == 0).then_some(prompt),
            "token_ids": [place * 7919 % VOCABULARY],
        }]))
    };
    let mut usage = envelope(json!([]));
    usage["usage"] = json!({
        "prompt_tokens": PROMPT, "total_tokens": PROMPT + tokens, "completion_tokens": tokens,
        "prompt_tokens_details": { "cached_tokens": 0 },
    });
    let data = (0..tokens).map(token).chain([usage]).map(|event| event.to_string());
    let chunk = |data: String| {
        let event = format!("data: {data}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
    };
    let end = b"0\r\n\r\n".to_vec();
    data.chain(["[DONE]".into()]).map(chunk).chain([end]).collect()
}
