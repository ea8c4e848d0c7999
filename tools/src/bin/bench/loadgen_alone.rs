//! LoadGen without a network, in a separate process.

use std::{error::Error, process::Command};

use e2e::process::program;
use serde_json::Value;

/// Runs `loadgen-alone` with a scenario, `rate` samples per second and `ms` milliseconds, and
/// returns the JSON that it prints. `schedule` contains its further arguments, from TTFT_US on. If
/// it is empty, the system under test responds at once.
pub fn loadgen_alone(
    scenario: &str,
    rate: u64,
    ms: u64,
    schedule: &[u64],
) -> Result<Value, Box<dyn Error>> {
    let mut alone = Command::new(program("loadgen-alone"));
    alone.arg(scenario).args([rate, ms].iter().chain(schedule).map(u64::to_string));
    let output = alone.output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("loadgen-alone failed: {}: {why}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
