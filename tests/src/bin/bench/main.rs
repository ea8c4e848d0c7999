//! What this machine moves: `bench [RUNS] [FILE]` prints tables in Markdown, and puts them into FILE between the
//! lines `<!-- measured -->` and `<!-- end -->`. All processes share the machine, so ratios count.
//!
//! - `transports.rs`: the QDL without LoadGen, beside plain sockets (`raw.rs`) and generated code (`stock.rs`)
//! - `with_loadgen.rs`: the real programs with the official LoadGen
//! - `scaling.rs`: cost per sample over nodes, connections and samples
//! - `compare.rs`: two builds in turn, by rounds (`round.rs`) of the same figures

mod compare;
mod figures;
mod meter;
mod ours;
mod raw;
mod round;
mod scaling;
mod server;
mod stock;
mod transports;
mod with_loadgen;

use std::{env, error::Error, fs, path::Path, thread};

use e2e::document::Marks;

/// Runs of each line when none are asked for.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("serve-raw") => return raw::serve(&server::announced()?),
        Some("serve-stock") => return stock::serve(server::announced()?),
        Some("round") => return round::print(),
        Some("compare") => return compare::print(&args[1..]),
        _ => {}
    }
    let runs = args.first().map_or(Ok(RUNS), |n| n.parse::<usize>())?.max(1);
    if let Some(file) = args.get(1) {
        TABLES.check(Path::new(file))?;
    }
    let tables = [
        machine(runs)?,
        transports::tables(runs)?,
        with_loadgen::tables(runs)?,
        scaling::table(runs)?,
    ];
    let text = tables.join("\n");
    println!("\n{text}");
    if let Some(file) = args.get(1) {
        TABLES.fill(Path::new(file), &text)?;
    }
    Ok(())
}

const TABLES: Marks = Marks("<!-- measured -->", "<!-- end -->");

fn machine(runs: usize) -> Result<String, Box<dyn Error>> {
    let cores = thread::available_parallelism()?;
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("?");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "Machine: {cores} cores, {model}, Linux {}; loopback. {runs} rounds, in each of which every line ran once; \
         medians, with the least and the most in brackets. A ratio is taken within a round.\n",
        kernel.trim()
    ))
}
