//! Throughput and cost per sample by the number of I/O threads at both ends, which have as many
//! connections.

use std::{error::Error, fmt::Write as _, fs, iter, thread};

use bytes::Bytes;
use e2e::SutNode;
use netdiv_qdl::Settings;

use crate::{
    meter::{Meter, median, spread},
    qdl,
};

/// Lengths of samples in bytes, with the number of samples for each I/O thread.
const SIZES: [(usize, usize); 2] = [(64, 4_000_000), (150_528, 40_000)];

/// Samples per second, and microseconds of processor time for each sample.
type RateAndCost = (f64, f64);

pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let most = thread::available_parallelism()?.get().max(2);
    let doubled = iter::successors(Some(1_usize), |threads| Some(threads * 2));
    let counts: Vec<usize> = doubled.take_while(|threads| *threads <= most).collect();
    let status = fs::read_to_string("/proc/self/status")?;
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let mut text = format!("Both ends share the cores {}.\n", cores.unwrap_or("?").trim());
    for (bytes, samples) in SIZES {
        let payloads = qdl::payloads(bytes);
        let mut rounds = Vec::new();
        for run in 1..=runs {
            eprintln!("I/O threads at {bytes} B, round {run} of {runs}");
            let round = counts.iter().map(|threads| measure(*threads, &payloads, samples));
            rounds.push(round.collect::<Result<Vec<_>, _>>()?);
        }
        writeln!(
            text,
            "\n| {bytes} B, I/O threads of each end | thousand samples/s | GB/s | CPU per sample, both ends | ratio to one thread \
             |\n|---|---|---|---|---|"
        )?;
        for (place, threads) in counts.iter().enumerate() {
            let rates = rounds.iter().map(|round| round[place].0);
            writeln!(
                text,
                "| {threads} | {} | {:.2} | {:.2} µs | {} |",
                spread(rates.clone().map(|rate| rate / 1e3), 1),
                median(rates) * bytes as f64 / 1e9,
                median(rounds.iter().map(|round| round[place].1)),
                spread(rounds.iter().map(|round| round[place].0 / round[0].0), 2),
            )?;
        }
    }
    Ok(text)
}

fn measure(
    threads: usize,
    payloads: &[Bytes],
    samples_of_thread: usize,
) -> Result<RateAndCost, Box<dyn Error>> {
    let node = SutNode::start("cores", &["--engine", "none", "--io-threads", &threads.to_string()]);
    let mut settings = Settings::new(vec![node.address.clone()]);
    (settings.io_threads, settings.connections_per_node) = (threads, threads);
    let samples = samples_of_thread * threads;
    let cost = qdl::send(&Meter::with([node.id()]), settings, payloads, samples)?;
    Ok((samples as f64 / cost.seconds, cost.cpu_seconds * 1e6 / samples as f64))
}
