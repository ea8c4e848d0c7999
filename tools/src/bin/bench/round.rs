//! A single round of a comparison of two builds: `bench round` prints lines of JSON, each with a
//! name, a unit and a value.

use std::error::Error;

use e2e::SutNode;
use netdiv_qdl::Settings;
use serde_json::json;

use crate::{
    meter::Meter,
    qdl,
    tokens::offline,
    with_loadgen::{self, OFFLINE_LONG, OFFLINE_SHORT, SERVER_SLOW},
};

/// Bytes per sample and number of samples of each run without LoadGen.
const WITHOUT_LOADGEN: [(usize, usize); 2] = [(150_528, 40_000), (64, 4_000_000)];

/// Measures and prints a round.
pub fn print() -> Result<(), Box<dyn Error>> {
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
