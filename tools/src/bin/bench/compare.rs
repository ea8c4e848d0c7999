//! Compares two builds: `bench compare BASE [ROUNDS]`, where BASE is the folder of the other
//! build's programs, prints medians of ratios. The builds alternate measurement by measurement,
//! because the machine's speed drifts within a round. Each has its own `bench round NUMBER`, which
//! makes one measurement and prints lines of JSON, each with a name, a unit and a value.

use std::{
    collections::BTreeMap,
    error::Error,
    path::Path,
    process::{Command, Stdio},
};

use e2e::{SutNode, process::program};
use netdiv_qdl::Settings;
use serde_json::json;

use crate::{
    meter::{Meter, median, spread},
    qdl,
    tokens::offline,
    with_loadgen::{self, BenchRow, OFFLINE_LONG, OFFLINE_SHORT, SERVER_SLOW},
};

/// Default number of rounds.
const ROUNDS: usize = 10;

/// Name, unit and value of a figure.
type Figure = (String, String, f64);

/// Runs the rounds and prints the table.
pub fn print(args: &[String]) -> Result<(), Box<dyn Error>> {
    let [base, rounds @ ..] = args else {
        return Err("usage: bench compare FOLDER_OF_PROGRAMS [ROUNDS]".into());
    };
    let rounds = rounds.first().map_or(Ok(ROUNDS), |n| n.parse::<usize>())?.max(1);
    let (base, here) = (Path::new(base).join("bench"), program("bench"));
    // Pairs of values by the number of the measurement, and by name and unit of the figure.
    let mut figures: BTreeMap<(usize, String, String), Vec<(f64, f64)>> = BTreeMap::new();
    for number in 1..=rounds {
        eprintln!("round {number} of {rounds}");
        for part in 0..MEASUREMENTS {
            // The order of the builds alternates between rounds.
            let (before, after) = if number % 2 == 1 {
                let before = measure(&base, part)?;
                (before, measure(&here, part)?)
            } else {
                let after = measure(&here, part)?;
                (measure(&base, part)?, after)
            };
            for (before, after) in before.into_iter().zip(after) {
                if (&before.0, &before.1) != (&after.0, &after.1) {
                    return Err(format!(
                        "the builds measure different figures: {before:?}, {after:?}"
                    )
                    .into());
                }
                let pairs = figures.entry((part, after.0, after.1)).or_default();
                pairs.push((before.2, after.2));
            }
        }
    }
    println!(
        "| figure | unit | base | this build | ratio, this build to base |\n|---|---|---|---|---|"
    );
    for ((_, name, unit), pairs) in &figures {
        println!(
            "| {name} | {unit} | {:.2} | {:.2} | {} |",
            median(pairs.iter().map(|pair| pair.0)),
            median(pairs.iter().map(|pair| pair.1)),
            spread(pairs.iter().map(|(before, after)| after / before), 3),
        );
    }
    Ok(())
}

fn measure(bench: &Path, part: usize) -> Result<Vec<Figure>, Box<dyn Error>> {
    let part = part.to_string();
    let output = Command::new(bench).args(["round", &part]).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", bench.display()))?;
    if !output.status.success() {
        return Err(format!("{} failed: {}", bench.display(), output.status).into());
    }
    let lines = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    Ok(lines.collect::<Result<Vec<_>, _>>()?)
}

/// Bytes per sample and number of samples of each run without LoadGen.
const WITHOUT_LOADGEN: [(usize, usize); 2] = [(150_528, 40_000), (64, 4_000_000)];

/// Number of measurements in a round.
const MEASUREMENTS: usize = WITHOUT_LOADGEN.len() + WITH_LOADGEN.len() + 2;

const WITH_LOADGEN: [BenchRow; 2] = [OFFLINE_LONG, OFFLINE_SHORT];

/// Makes the measurement with the number in `args`, and prints its figures.
pub fn print_measurement(args: &[String]) -> Result<(), Box<dyn Error>> {
    let usage = || format!("usage: bench round NUMBER, from 0 to {}", MEASUREMENTS - 1);
    let number: usize = args.first().and_then(|text| text.parse().ok()).ok_or_else(usage)?;
    let node = |name: &str| SutNode::start(name, &["--engine", "none"]);
    let nodes = || [node("a"), node("b")];
    if let Some((bytes, samples)) = WITHOUT_LOADGEN.get(number).copied() {
        let node = node("a");
        let meter = Meter::with([node.id()]);
        let payloads = qdl::payloads(bytes);
        let cost =
            qdl::send(&meter, Settings::new(vec![node.address.clone()]), &payloads, samples)?;
        let name = format!("{bytes} B Offline, without LoadGen");
        line(&name, "samples/s", samples as f64 / cost.seconds);
        line(&name, "CPU µs/sample", cost.cpu_seconds * 1e6 / samples as f64);
    } else if let Some(row) = WITH_LOADGEN.get(number - WITHOUT_LOADGEN.len()) {
        let figures = with_loadgen::measure(&nodes(), row)?;
        line(row.label, "samples/s", figures.samples_per_second);
        line(row.label, "CPU µs/sample", figures.cpu_us_per_sample);
    } else if number == MEASUREMENTS - 2 {
        let tokens = offline::measure(&offline::nodes())?;
        line(offline::LABEL, "samples/s", tokens.samples_per_second);
        line(offline::LABEL, "CPU µs/sample", tokens.cpu_us_per_sample);
    } else if number == MEASUREMENTS - 1 {
        line(
            SERVER_SLOW.label,
            "p50 µs",
            with_loadgen::measure(&nodes(), &SERVER_SLOW)?.latency.p50,
        );
    } else {
        return Err(usage().into());
    }
    Ok(())
}

fn line(name: &str, unit: &str, value: f64) {
    println!("{}", json!([name, unit, value]));
}
