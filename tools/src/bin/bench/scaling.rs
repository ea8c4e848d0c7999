//! Cost per sample for different numbers of nodes, connections and samples. It must not grow with
//! these numbers.

use std::{error::Error, fmt::Write as _};

use e2e::SutNode;
use netdiv_qdl::Settings;

use crate::{
    meter::{Cost, Meter, median},
    qdl,
};

/// Length of a sample, in bytes.
const BYTES: usize = 64;

/// Number of nodes, connections to each node, number of samples, and true if each sample is a
/// separate query to the stream with the fewest outstanding samples, as in Server.
const ROWS: [(usize, usize, usize, bool); 15] = [
    (1, 1, 10_000, false),
    (1, 1, 100_000, false),
    (1, 1, 1_000_000, false),
    (1, 1, 10_000_000, false),
    (2, 1, 1_000_000, false),
    (4, 1, 1_000_000, false),
    (8, 1, 1_000_000, false),
    (1, 4, 1_000_000, false),
    (1, 16, 1_000_000, false),
    (8, 16, 1_000_000, false),
    (1, 1, 1_000_000, true),
    (2, 1, 1_000_000, true),
    (8, 1, 1_000_000, true),
    (1, 16, 1_000_000, true),
    (8, 16, 1_000_000, true),
];

/// Minimum number of samples per line. Shorter runs are repeated, because processor time is counted
/// in hundredths of a second.
const MIN_SAMPLES: usize = 1_000_000;

pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let most = ROWS.iter().map(|row| row.0).max().unwrap_or(1);
    let nodes: Vec<_> =
        (0..most).map(|n| SutNode::start(&format!("n{n}"), &["--engine", "none"])).collect();
    let meter = Meter::with(nodes.iter().map(SutNode::id));
    let payloads = qdl::payloads(BYTES);
    let mut figures: Vec<Vec<(f64, f64)>> = ROWS.iter().map(|_| Vec::new()).collect();
    for run in 1..=runs {
        eprintln!("scaling, round {run} of {runs}");
        for ((count, connections, samples, single), figures) in ROWS.into_iter().zip(&mut figures) {
            let mut cost = Cost::default();
            let times = MIN_SAMPLES.div_ceil(samples);
            for _ in 0..times {
                let addresses = nodes[..count].iter().map(|node| node.address.clone());
                let mut settings = Settings::new(addresses.collect());
                settings.connections_per_node = connections;
                let send = if single { qdl::send_singly } else { qdl::send };
                cost += send(&meter, settings, &payloads, samples)?;
            }
            let all = (samples * times) as f64;
            figures.push((all / cost.seconds, cost.cpu_seconds * 1e6 / all));
        }
    }
    let mut text = String::from(
        "| nodes | connections to each | samples, 64 B | queries | thousand samples/s | CPU per sample, all processes \
         |\n|---|---|---|---|---|---|\n",
    );
    for ((nodes, connections, samples, single), figures) in ROWS.into_iter().zip(&figures) {
        writeln!(
            text,
            "| {nodes} | {connections} | {samples} | {} | {:.0} | {:.2} µs |",
            if single { "one for each" } else { "one for all" },
            median(figures.iter().map(|(rate, _)| rate / 1e3)),
            median(figures.iter().map(|(_, cpu)| *cpu)),
        )?;
    }
    Ok(text)
}
