//! Measures throughput and cost on this machine: `bench [TABLES] [RUNS] [FOLDER]` prints tables in
//! Markdown, and writes them as documents into FOLDER. TABLES is a prefix of table names, or the
//! name of a document; without it, all tables are measured. All processes share the machine, so
//! only ratios are meaningful.
//!
//! - `transports.rs`: the QDL without LoadGen, beside plain sockets (`raw.rs`) and generated code
//!   (`stock.rs`)
//! - `with_loadgen.rs`: the real programs with the official LoadGen
//! - `scaling.rs`: cost per sample over nodes, connections and samples
//! - `cores.rs`: throughput over I/O threads
//! - `tokens/`: outputs of tokens
//! - `python.rs`: engines in Python
//! - `unlike.rs`: two nodes that differ in speed
//! - `compare.rs`: two builds compared, by rounds of the same figures

mod compare;
mod cores;
mod meter;
mod python;
mod qdl;
mod raw;
mod scaling;
mod sections;
mod server;
mod stock;
mod tokens;
mod transports;
mod unlike;
mod with_loadgen;

use std::{env, error::Error, path::Path};

use crate::sections::chosen;

/// Default number of runs per line.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("serve-raw") => return raw::serve(&server::announced()?),
        Some("serve-stock") => return stock::serve(server::announced()?),
        Some("serve-completions") => return tokens::completions::serve(&args[1..]),
        Some("contend") => return transports::print_contender(&args[1..]),
        Some("round") => return compare::print_measurement(&args[1..]),
        Some("compare") => return compare::print(&args[1..]),
        _ => {}
    }
    let is_number = |arg: &&String| arg.parse::<usize>().is_ok();
    let words = args.first().filter(|arg| !is_number(arg));
    let mut rest = args[usize::from(words.is_some())..].iter();
    let runs = rest.next().map_or(Ok(RUNS), |n| n.parse::<usize>())?.max(1);
    let folder = rest.next().map(Path::new);
    let sections = chosen(words.map_or("", String::as_str))?;
    for section in &sections {
        section.check(folder)?;
    }
    for section in &sections {
        let text = section.measure(runs)?;
        println!("\n{text}");
        if let Some(folder) = folder {
            section.write(folder, &text)?;
        }
    }
    Ok(())
}
