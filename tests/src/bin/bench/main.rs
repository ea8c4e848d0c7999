//! What this machine moves: `bench [RUNS] [FILE]` prints tables in Markdown, and puts them into FILE between the
//! lines `<!-- measured -->` and `<!-- end -->`. All processes share the machine, so ratios count.
//!
//! - `transports.rs`: the QDL without LoadGen, beside plain sockets (`raw.rs`) and generated code (`stock.rs`)
//! - `with_loadgen.rs`: the real programs with the official LoadGen
//! - `scaling.rs`: cost per sample over nodes, connections and samples

mod ours;
mod raw;
mod scaling;
mod stock;
mod transports;
mod with_loadgen;

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use e2e::document::Marks;

/// Runs of each line when none are asked for.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("serve-raw") => return raw::serve(&announced()?),
        Some("serve-stock") => return stock::serve(announced()?),
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

/// A listener whose address is printed.
fn announced() -> Result<TcpListener, std::io::Error> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

/// This program in another role; ended with the value.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(role: &str) -> Result<Self, Box<dyn Error>> {
        let own = env::current_exe()?;
        let mut child = Command::new(own).arg(role).stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut address)?;
        Ok(Self { child, address: address.trim().into() })
    }

    fn cpu_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        loadgen_node::cpu_seconds(&stat.unwrap_or_default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time of this process, in seconds.
fn own_cpu_seconds() -> f64 {
    loadgen_node::cpu_seconds(&fs::read_to_string("/proc/self/stat").unwrap_or_default())
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Median, least and most.
fn spread(values: impl IntoIterator<Item = f64> + Clone, digits: usize) -> String {
    let least = values.clone().into_iter().fold(f64::MAX, f64::min);
    let most = values.clone().into_iter().fold(f64::MIN, f64::max);
    format!("{:.digits$} ({least:.digits$} – {most:.digits$})", median(values))
}
