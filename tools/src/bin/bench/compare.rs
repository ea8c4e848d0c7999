//! Compares two builds: `bench compare BASE [ROUNDS]`, where BASE is the folder of the other
//! build's programs, prints medians of ratios. The builds alternate, each with its own
//! `bench round`, which prints lines of JSON, each with a name, a unit and a value.

use std::{
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
    with_loadgen::{self, OFFLINE_LONG, OFFLINE_SHORT, SERVER_SLOW},
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
    let mut pairs: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut names = Vec::new();
    for number in 1..=rounds {
        eprintln!("round {number} of {rounds}");
        // The order of the builds alternates between rounds.
        let (before, after) = if number % 2 == 1 {
            let before = round(&base)?;
            (before, round(&here)?)
        } else {
            let after = round(&here)?;
            (round(&base)?, after)
        };
        pairs.resize(after.len(), Vec::new());
        names.clear();
        for ((before, after), pairs) in before.into_iter().zip(after).zip(&mut pairs) {
            if (&before.0, &before.1) != (&after.0, &after.1) {
                return Err(
                    format!("the builds measure different figures: {before:?}, {after:?}").into()
                );
            }
            pairs.push((before.2, after.2));
            names.push((after.0, after.1));
        }
    }
    println!(
        "| figure | unit | base | this build | ratio, this build to base |\n|---|---|---|---|---|"
    );
    for ((name, unit), pairs) in names.iter().zip(&pairs) {
        println!(
            "| {name} | {unit} | {:.2} | {:.2} | {} |",
            median(pairs.iter().map(|pair| pair.0)),
            median(pairs.iter().map(|pair| pair.1)),
            spread(pairs.iter().map(|(before, after)| after / before), 3),
        );
    }
    Ok(())
}

fn round(bench: &Path) -> Result<Vec<Figure>, Box<dyn Error>> {
    let output = Command::new(bench).arg("round").stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", bench.display()))?;
    if !output.status.success() {
        return Err(format!("{} failed: {}", bench.display(), output.status).into());
    }
    let lines = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    Ok(lines.collect::<Result<Vec<_>, _>>()?)
}

/// Bytes per sample and number of samples of each run without LoadGen.
const WITHOUT_LOADGEN: [(usize, usize); 2] = [(150_528, 40_000), (64, 4_000_000)];

/// Measures and prints a round.
pub fn print_round() -> Result<(), Box<dyn Error>> {
    let node = |name: &str| SutNode::start(name, &["--engine", "none"]);
    let nodes = [node("a"), node("b")];
    for (bytes, samples) in WITHOUT_LOADGEN {
        let meter = Meter::with([nodes[0].id()]);
        let payloads = qdl::payloads(bytes);
        let settings = Settings::new(vec![nodes[0].address.clone()]);
        let cost = qdl::send(&meter, settings, &payloads, samples)?;
        let name = format!("{bytes} B Offline, without LoadGen");
        line(&name, "samples/s", samples as f64 / cost.seconds);
        line(&name, "CPU µs/sample", cost.cpu_seconds * 1e6 / samples as f64);
    }
    for row in [OFFLINE_LONG, OFFLINE_SHORT] {
        let figures = with_loadgen::measure(&nodes, &row)?;
        line(row.label, "samples/s", figures.samples_per_second);
        line(row.label, "CPU µs/sample", figures.cpu_us_per_sample);
    }
    let tokens = offline::measure(&offline::nodes())?;
    line(offline::LABEL, "samples/s", tokens.samples_per_second);
    line(offline::LABEL, "CPU µs/sample", tokens.cpu_us_per_sample);
    line(SERVER_SLOW.label, "p50 µs", with_loadgen::measure(&nodes, &SERVER_SLOW)?.p50);
    Ok(())
}

fn line(name: &str, unit: &str, value: f64) {
    println!("{}", json!([name, unit, value]));
}
