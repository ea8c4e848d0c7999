//! Recorded responses of serving engines, and a client of a fake server.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::runtime::Builder;

pub(super) use crate::fake_server::{FakeServer, Step, chunk, events, head, refusal};
use crate::{
    engine::{
        remote::{
            servers::Servers,
            testing::{PROMPT, servers},
        },
        served::{
            exchange::OpenAiExchange,
            output::Remarks,
            settings::{Dialect, ServedConfig},
        },
    },
    ground::error::EngineError,
    model::served_model::ServedModel,
};

/// Returns a recorded response: its head and its body.
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

/// Returns the steps of a server that sends a recorded response in pieces of `piece` bytes.
pub(super) fn replay(name: &str, piece: usize) -> Vec<Step> {
    let (head, body) = recorded(name);
    let head = format!("{head}\r\ntransfer-encoding: chunked\r\n\r\n");
    let pieces = body.chunks(piece).map(chunk);
    let (head, end) = (Step::Send(head.into_bytes()), Step::Send(b"0\r\n\r\n".to_vec()));
    [head].into_iter().chain(pieces).chain([end]).collect()
}

pub(super) fn settings(urls: &[&str], dialect: Dialect, model: ServedModel) -> ServedConfig {
    ServedConfig { servers: servers(urls), dialect, model, sampling_seed: None }
}

/// Returns the time limit for a test whose error contains `words`. It is short only if the server
/// stays silent.
pub(super) fn patience(words: &str) -> Duration {
    Duration::from_millis(if words.contains("no progress within") { 2000 } else { 20_000 })
}

pub(super) fn exchange(settings: &ServedConfig) -> OpenAiExchange {
    let servers = Arc::new(Servers::new(&settings.servers.urls));
    OpenAiExchange::new(Arc::new(settings.clone()), servers)
}

/// Sends a single request. Returns the received tokens and the outcome.
pub(super) fn ask(settings: &ServedConfig) -> (Vec<i32>, Result<Remarks, EngineError>) {
    let exchange = exchange(settings);
    let mut taken = Vec::new();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(exchange.ask(&PROMPT, &mut taken));
    (taken, outcome.map(|(remarks, _)| remarks))
}
