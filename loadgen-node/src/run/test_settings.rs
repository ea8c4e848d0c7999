//! LoadGen's settings for a run, and which of them are refused.

use std::io;

use loadgen_sys::{Scenario, TestSettings};
use netdiv_resources::files;
use netdiv_rules::{Division, user_conf};
use tracing::warn;

use crate::{
    RunError,
    settings::{RunConfig, usage},
};

/// LoadGen's settings: mlperf.conf, then user.conf, then the fields that were set by hand, and the lines of user.conf that have no effect.
pub(crate) fn test_settings(config: &RunConfig) -> Result<(TestSettings, Vec<String>), RunError> {
    let refused = |error: loadgen_sys::SettingsError| RunError::Usage(error.to_string());
    let audit_config = &config.audit_config;
    match files::check(audit_config, files::TEXT_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return usage(format!("{}: {error}", audit_config.display())),
        Ok(()) => warn!("LoadGen will take settings from {}", audit_config.display()),
    }
    let mut warnings = Vec::new();
    if let Some(path) = &config.user_conf {
        warnings = user_conf::check(path, &config.loadgen_model, config.scenario.official_name())
            .map_err(RunError::Usage)?;
    }
    let mut settings = TestSettings::new(config.scenario, config.mode);
    settings.from_config(config.user_conf.as_deref(), &config.loadgen_model).map_err(refused)?;
    if let Some(samples) = config.performance_samples {
        // Else the number in mlperf.conf would win.
        settings.set("performance_sample_count_override", &samples.to_string()).map_err(refused)?;
    }
    for (name, value) in &config.settings {
        settings.set(name, value).map_err(refused)?;
    }
    check_settings(&settings, config.scenario)?;
    Ok((settings, warnings))
}

/// A line of user.conf without effect is a warning; a run of the Network division must have a user.conf that applies to it.
pub(crate) fn check_user_conf(config: &RunConfig, warnings: &[String]) -> Result<(), RunError> {
    if config.division == Division::Network && !config.rehearsal {
        if config.user_conf.is_none() {
            return usage(
                "a run of the Network division needs --user-conf, with target_qps for benchmark and scenario",
            );
        }
        if !warnings.is_empty() {
            return usage(warnings.join("\n"));
        }
    }
    warnings.iter().for_each(|warning| warn!("{warning}"));
    Ok(())
}

/// Most samples that LoadGen is asked to prepare: it needs some 60 bytes for each, before it issues one.
const MOST_SAMPLES: f64 = 4e9;

/// More threads than any machine has cores for.
const MOST_ISSUE_THREADS: u64 = 256;

/// Refuses what this version does not support, and what LoadGen cannot do.
fn check_settings(settings: &TestSettings, scenario: Scenario) -> Result<(), RunError> {
    let issue_threads = settings.field("server_num_issue_query_threads");
    if issue_threads.and_then(|n| n.parse().ok()).is_some_and(|n: u64| n > MOST_ISSUE_THREADS) {
        return usage(format!(
            "server_num_issue_query_threads: at most {MOST_ISSUE_THREADS}, as many as cores at best"
        ));
    }
    if settings.field("use_token_latencies").is_some_and(|on| on == "true") {
        return usage(
            "this benchmark measures token latencies (use_token_latencies), which this version does not; \
             --setting use_token_latencies=false runs it without them, as an experiment",
        );
    }
    let rate = match scenario {
        Scenario::Offline => "offline_expected_qps",
        Scenario::Server => "server_target_qps",
        Scenario::SingleStream | Scenario::MultiStream => return Ok(()),
    };
    let number = |field| settings.field(field).and_then(|text| text.parse::<f64>().ok());
    let per_second = number(rate).unwrap_or(f64::NAN);
    let seconds = number("min_duration_ms").unwrap_or(0.0) / 1000.0;
    if !(per_second.is_finite() && per_second > 0.0) {
        return usage(format!("target_qps ({rate}) is {per_second}; it must be above 0"));
    }
    if per_second * seconds > MOST_SAMPLES {
        return usage(format!(
            "{per_second} samples per second for {seconds} s are more than LoadGen can prepare; lower target_qps"
        ));
    }
    Ok(())
}
