//! LoadGen with a system under test that does nothing, in one process: what LoadGen itself costs.
//!
//! `loadgen-alone SCENARIO SAMPLES_PER_SECOND MILLISECONDS` prints one line of JSON: LoadGen's verdict and
//! completed samples per second, its latencies, and the most memory that was resident when the first query was issued, in bytes:
//! LoadGen's tables for all queries. (At the end it would be more: one thread that answers everything at once
//! piles up LoadGen's log.)

use std::{env, error::Error, path::Path, sync::OnceLock};

use loadgen_node::official_log::DetailLog;
use loadgen_sys::{
    Abort, LogSettings, Mode, QuerySampleLibrary, Samples, Scenario, SystemUnderTest, TestSettings,
    complete, start_test,
};

struct Nothing {
    resident_at_first_query: OnceLock<u64>,
}

impl SystemUnderTest for Nothing {
    fn name(&self) -> Result<String, Abort> {
        Ok("nothing".into())
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        self.resident_at_first_query.get_or_init(|| loadgen_node::process().peak_resident_bytes);
        complete(samples.map(|sample| (sample.response_id, &b"nothing."[..])));
        Ok(())
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        Ok(())
    }

    fn abandoned(&self, reason: Abort) {
        panic!("{reason}");
    }
}

impl QuerySampleLibrary for Nothing {
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

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = env::args().skip(1).collect();
    let [scenario, rate, milliseconds] = &args[..] else {
        return Err("usage: loadgen-alone offline|server SAMPLES_PER_SECOND MILLISECONDS".into());
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
    let folder = tempfile::tempdir()?;
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let nothing = Nothing { resident_at_first_query: OnceLock::new() };
    start_test(&nothing, &nothing, &settings, &log, Path::new("no audit.config"))?;
    let log = DetailLog::read(&folder.path().join("mlperf_log_detail.txt"))?;
    let line = serde_json::json!({
        "verdict": log.text("result_validity"),
        "samples_per_second": log.number(metric),
        "p50_ns": log.number("result_50.00_percentile_latency_ns"),
        "p99_ns": log.number("result_99.00_percentile_latency_ns"),
        "peak_resident_bytes": nothing.resident_at_first_query.get(),
    });
    println!("{line}");
    Ok(())
}
