//! The baseline: blocking TCP sockets only. A message is a length, an id and the payload. One
//! vectored call writes a long message, or many short ones. Replies of 12 bytes are written
//! together for all messages of one read.

use std::{
    error::Error,
    io::{IoSlice, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use bytes::Bytes;

use crate::meter::{Cost, Meter};

/// Length of a header, in bytes: length and id.
const HEADER: usize = 12;

/// Length of a reply, in bytes: a copy of the message's header.
const REPLY: usize = 12;

/// Maximum length of one read, in bytes.
const READ: usize = 1 << 20;

/// Number of short messages that one call writes, headers and payloads.
const TOGETHER: usize = 256;

/// Serves one connection after another.
pub fn serve(listener: &TcpListener) -> Result<(), Box<dyn Error>> {
    for stream in listener.incoming() {
        let mut stream = stream?;
        stream.set_nodelay(true)?;
        answer(&mut stream)?;
    }
    Ok(())
}

fn answer(stream: &mut TcpStream) -> Result<(), Box<dyn Error>> {
    let mut buffer = vec![0; READ];
    let mut header = Vec::with_capacity(HEADER);
    let mut replies = Vec::new();
    let mut payload_left = 0;
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        let mut bytes = &buffer[..count];
        while !bytes.is_empty() {
            if payload_left == 0 {
                let part = bytes.len().min(HEADER - header.len());
                header.extend_from_slice(&bytes[..part]);
                bytes = &bytes[part..];
                if header.len() < HEADER {
                    break;
                }
                payload_left = u32::from_le_bytes(header[..4].try_into()?) as usize;
            }
            let part = bytes.len().min(payload_left);
            payload_left -= part;
            bytes = &bytes[part..];
            if payload_left == 0 {
                replies.extend_from_slice(&header);
                header.clear();
            }
        }
        stream.write_all(&replies)?;
        replies.clear();
    }
}

/// Sends this number of samples and waits for all replies.
pub fn send(
    meter: &Meter,
    address: &str,
    payloads: &[Bytes],
    samples: usize,
) -> Result<Cost, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let started = meter.start();
    let mut reader = stream.try_clone()?;
    let replies = thread::spawn(move || {
        let mut buffer = vec![0; READ];
        let mut left = samples * REPLY;
        while left > 0 {
            match reader.read(&mut buffer) {
                Ok(count) if count > 0 => left -= count,
                _ => return Err("the server closed the connection"),
            }
        }
        Ok(())
    });
    let together = if payloads[0].len() < 4096 { TOGETHER } else { 1 };
    let mut next = 0;
    while next < samples {
        let count = together.min(samples - next);
        let headers: Vec<[u8; HEADER]> = (next..next + count)
            .map(|id| {
                let mut header = [0; HEADER];
                let payload = &payloads[id % payloads.len()];
                header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
                header[4..].copy_from_slice(&(id as u64).to_le_bytes());
                header
            })
            .collect();
        let mut slices: Vec<_> = headers
            .iter()
            .zip(next..)
            .flat_map(|(header, id)| {
                [IoSlice::new(header), IoSlice::new(&payloads[id % payloads.len()])]
            })
            .collect();
        let mut left = &mut slices[..];
        while !left.is_empty() {
            let written = stream.write_vectored(left)?;
            IoSlice::advance_slices(&mut left, written);
        }
        next += count;
    }
    replies.join().map_err(|_| "the reader panicked")??;
    Ok(started.stop())
}
