//! What this machine moves.
mod ours;
mod raw;
mod stock;

use std::{env, error::Error, net::TcpListener, time::Instant};

use bytes::Bytes;
use netdiv_qdl::{Settings, Transport};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().collect();
    let size: usize = args[3].parse()?;
    let samples: usize = args[4].parse()?;
    let count = (64_000_000 / size.max(1)).clamp(64, 1024);
    let payload: Vec<_> = (0..count).map(|n| Bytes::from(vec![n as u8; size])).collect();
    let address = args[2].as_str();
    match args[1].as_str() {
        "serve-raw" => return raw::serve(&TcpListener::bind(address)?),
        "serve-stock" => return stock::serve(TcpListener::bind(address)?),
        _ => {}
    }
    let start = Instant::now();
    let run = |transport| {
        let mut settings = Settings::new(vec![address.to_owned()]);
        settings.network.options.transport = transport;
        settings.streams_per_connection = args.get(5).map_or(1, |n| n.parse().unwrap_or(1));
        settings
    };
    match args[1].as_str() {
        "raw" => raw::send(address, &payload, samples)?,
        "stream" => stock::stream(address, &payload, samples)?,
        "unary" => stock::unary(address, &payload, samples)?,
        "grpc" => ours::send(run(Transport::Grpc), &payload, samples)?,
        "quic" => ours::send(run(Transport::Quic), &payload, samples)?,
        other => return Err(other.into()),
    }
    let rate = samples as f64 / start.elapsed().as_secs_f64();
    println!("{} {size}: {rate:.0}/s {:.2} GB/s", args[1], rate * size as f64 / 1e9);
    Ok(())
}
