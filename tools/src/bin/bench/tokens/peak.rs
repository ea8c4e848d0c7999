//! Server: the highest rate that LoadGen finds VALID.

use std::error::Error;

use super::runs::{self, BaselineSystem, OUTPUT};
use crate::meter::{median, spread};

const MILLISECONDS: u64 = 2000;

/// Ratio of a rate to the one before it.
const STEP: f64 = 1.05;

/// Lowest rate, and number of steps: up to ten million.
const LOWEST: f64 = 100.0;
const STEPS: usize = 236;

/// Steps at which the first round's searches begin: for two nodes, for plain sockets, and for
/// LoadGen alone.
const BEGIN: [usize; 3] = [148, 145, 188];

/// Returns the queries per second of a step.
fn rate(step: usize) -> u64 {
    (LOWEST * STEP.powi(step as i32)).round() as u64
}

/// Returns the highest good step. The search starts at `begin` and moves by growing strides until
/// the last good step is between two steps, then bisects.
fn highest(
    begin: usize,
    mut is_good: impl FnMut(usize) -> Result<bool, Box<dyn Error>>,
) -> Result<usize, Box<dyn Error>> {
    let (mut good, mut bad) = (None, None);
    let (mut at, mut width) = (begin.min(STEPS - 1), 1);
    loop {
        if is_good(at)? {
            good = Some(at);
        } else {
            bad = Some(at);
        }
        at = match (good, bad) {
            (Some(good), Some(bad)) if bad <= good + 1 => return Ok(good),
            (Some(good), Some(bad)) => good + (bad - good) / 2,
            (Some(good), None) if good == STEPS - 1 => {
                return Err(format!("even {} QPS is VALID", rate(good)).into());
            }
            (_, Some(0)) => return Err(format!("not even {LOWEST} QPS is VALID").into()),
            (_, None) => (at + width).min(STEPS - 1),
            (None, Some(bad)) => bad.saturating_sub(width),
        };
        width *= 2;
    }
}

pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let nodes = runs::nodes_on_schedule();
    let [mut over_network, mut sockets, mut alone] = BEGIN;
    let (mut peaks, mut cpu) = (Vec::new(), Vec::new());
    for run in 1..=runs {
        eprintln!("the highest VALID rate in Server, round {run} of {runs}");
        let mut cpu_at_peak = 0.0;
        over_network = highest(over_network, |step| {
            match runs::over_network(&nodes, "server", rate(step), MILLISECONDS) {
                Ok(figures) if figures.is_valid => cpu_at_peak = figures.cpu_us_per_sample,
                Ok(_) => return Ok(false),
                // Far beyond the nodes' capacity, a run may fail for other reasons than its speed.
                Err(why) => {
                    eprintln!("at {} QPS: {why}", rate(step));
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        let is_valid = |system, step| Ok(runs::alone(system, rate(step), MILLISECONDS)?.1);
        sockets = highest(sockets, |step| is_valid(BaselineSystem::BehindSockets, step))?;
        alone = highest(alone, |step| is_valid(BaselineSystem::InProcess, step))?;
        cpu.push(cpu_at_peak);
        peaks.push([over_network, sockets, alone].map(|step| rate(step) as f64));
    }
    let line = |name: &str, cpu: &str, place: usize| {
        let rates: Vec<_> = peaks.iter().map(|round| round[place]).collect();
        let tokens = median(rates.iter().copied()) * OUTPUT as f64;
        let ratios: Vec<_> = peaks.iter().map(|round| round[place] / round[2]).collect();
        let (rates, ratios) = (spread(rates, 0), spread(ratios, 2));
        format!("| {name} | {rates} | {tokens:.0} | {cpu} | {ratios} |\n")
    };
    Ok([
        "| Server, the highest VALID rate | queries/s | tokens/s, out | CPU per sample, all processes | ratio to LoadGen alone \
         |\n|---|---|---|---|---|\n"
            .to_owned(),
        line("LoadGen alone, a system on schedule in its process", "–", 2),
        line("a system on schedule behind plain sockets", "–", 1),
        line("**two nodes**", &format!("{:.2} µs", median(cpu)), 0),
    ]
    .concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_good_step_is_found_from_anywhere() {
        for last in [0, 1, 99, 100, STEPS - 2] {
            for begin in [0, 1, 50, 100, STEPS - 1, STEPS + 9] {
                let mut tries = 0;
                let found = highest(begin, |step| {
                    tries += 1;
                    Ok(step <= last)
                });
                assert_eq!(found.unwrap(), last, "from {begin}");
                assert!(tries <= 20, "{tries} tries");
            }
            let mut tries = 0;
            let again = highest(last, |step| {
                tries += 1;
                Ok(step <= last)
            });
            assert_eq!((again.unwrap(), tries), (last, 2), "the search begins at the last peak");
        }
        let none = highest(50, |_| Ok(false)).unwrap_err().to_string();
        assert!(none.contains("not even 100 QPS"), "{none}");
        assert!(highest(50, |_| Ok(true)).unwrap_err().to_string().contains("even 9"), "all");
        assert!(highest(50, |_| Err("broken".into())).is_err());
    }
}
