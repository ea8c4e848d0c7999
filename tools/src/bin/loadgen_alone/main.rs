//! LoadGen with a system under test that does almost nothing, in one process: the cost of LoadGen
//! itself.
//!
//! `loadgen-alone SCENARIO SAMPLES_PER_SECOND MILLISECONDS [TTFT_US TPOT_US TOKENS] [BYTES]` prints
//! one line of JSON: LoadGen's verdict and completed samples per second, its latencies, and the
//! peak resident memory when the first query was issued, in bytes. That is the memory of LoadGen's
//! tables for all queries. (At the end it would be more: one thread that responds to everything at
//! once fills LoadGen's log.) With TTFT_US, TPOT_US and TOKENS, outputs are tokens on schedule,
//! which LoadGen counts. With BYTES, samples of that length and their responses pass through a
//! plain TCP connection.

mod scheduled_system;
mod socket_system;

use std::{env, error::Error, sync::OnceLock};

use loadgen_node::official_log::{DetailLog, latencies};
use loadgen_sys::{
    Abort, LogSettings, Mode, QuerySampleLibrary, Samples, Scenario, SystemUnderTest, TestSettings,
    complete, start_test,
};

use crate::{
    scheduled_system::{LoadGen, Schedule, ScheduledSystem},
    socket_system::{AT_ONCE, SocketSystem},
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = env::args().skip(1).collect();
    let [scenario, rate, milliseconds, further @ ..] = &args[..] else {
        return Err(USAGE.into());
    };
    let (scenario, rate_field, metric) = match scenario.as_str() {
        "offline" => (Scenario::Offline, "offline_expected_qps", "result_samples_per_second"),
        _ => (Scenario::Server, "server_target_qps", "result_completed_samples_per_sec"),
    };
    let mut settings = TestSettings::new(scenario, Mode::Performance);
    settings.set(rate_field, rate)?;
    settings.set("min_duration_ms", milliseconds)?;
    settings.set("min_query_count", "1")?;
    settings.set("server_target_latency_ns", "10000000")?;
    let other: Option<Box<dyn SystemUnderTest>> = match further {
        [] => None,
        [bytes] if scenario == Scenario::Server => Some(Box::new(SocketSystem::at_once(bytes)?)),
        [ttft_us, tpot_us, tokens, bytes @ ..] if scenario == Scenario::Server => {
            for (field, value) in e2e::TOKEN_BOUNDS {
                settings.set(field, value)?;
            }
            let schedule = Schedule::parse(ttft_us, tpot_us, tokens)?;
            Some(match bytes {
                [] => Box::new(ScheduledSystem::start(schedule, LoadGen)?),
                [bytes] => Box::new(SocketSystem::on_schedule(schedule, bytes)?),
                _ => return Err(USAGE.into()),
            })
        }
        _ => return Err(USAGE.into()),
    };
    let folder = tempfile::tempdir()?;
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let nothing = NullSystem::default();
    let sut = other.as_deref().unwrap_or(&nothing);
    start_test(sut, &nothing, &settings, &log, None)?;
    let log = DetailLog::read(&folder.path().join("mlperf_log_detail.txt"))?;
    let line = serde_json::json!({
        "verdict": log.text("result_validity"),
        "samples_per_second": log.number(metric),
        "latency_ns": latencies(&log),
        "peak_resident_bytes": nothing.resident_at_first_query(),
    });
    println!("{line}");
    Ok(())
}

const USAGE: &str = "usage: loadgen-alone offline SAMPLES_PER_SECOND MILLISECONDS, or \
                     loadgen-alone server SAMPLES_PER_SECOND MILLISECONDS [TTFT_US TPOT_US TOKENS] [BYTES]";

/// System that responds at once, and a data set of empty samples.
#[derive(Default)]
struct NullSystem {
    resident_at_first_query: OnceLock<u64>,
}

impl NullSystem {
    /// Returns the peak resident memory when the first query was issued, in bytes; `None` if
    /// another system received the queries.
    fn resident_at_first_query(&self) -> Option<u64> {
        self.resident_at_first_query.get().copied()
    }
}

impl SystemUnderTest for NullSystem {
    fn name(&self) -> Result<String, Abort> {
        Ok("nothing".into())
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        self.resident_at_first_query.get_or_init(|| loadgen_node::process().peak_resident_bytes);
        complete(samples.map(|sample| (sample.response_id, AT_ONCE)));
        Ok(())
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        Ok(())
    }

    fn abandoned(&self, reason: Abort) {
        panic!("{reason}");
    }
}

impl QuerySampleLibrary for NullSystem {
    fn name(&self) -> String {
        "nothing".into()
    }

    fn total_sample_count(&self) -> usize {
        1024
    }

    fn performance_sample_count(&self) -> usize {
        1024
    }

    fn load_samples(&self, _: &[usize]) -> Result<(), Abort> {
        Ok(())
    }

    fn unload_samples(&self, _: &[usize]) -> Result<(), Abort> {
        Ok(())
    }
}
