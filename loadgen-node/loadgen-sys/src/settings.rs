//! `TestSettings` and `LogSettings`.

use std::{
    ffi::{CStr, CString},
    path::Path,
    ptr::NonNull,
    sync::atomic::{AtomicBool, Ordering},
};

use netdiv_node_common::words::{AnswerTokens, Mode, Scenario, did_you_mean};

use crate::ffi;

/// Returns the enumerator of `mlperf::TestScenario`.
const fn scenario_number(scenario: Scenario) -> i32 {
    match scenario {
        Scenario::SingleStream => 0,
        Scenario::MultiStream => 1,
        Scenario::Server => 2,
        Scenario::Offline => 3,
    }
}

/// Returns the enumerator of `mlperf::TestMode`.
const fn mode_number(mode: Mode) -> i32 {
    match mode {
        Mode::Submission => 0,
        Mode::Accuracy => 1,
        Mode::Performance => 2,
        Mode::FindPeak => 3,
    }
}

/// Reason why settings are invalid, with the setting or the file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(String);

/// `mlperf::TestSettings`, with every field reachable by its C++ name.
#[derive(Debug)]
pub struct TestSettings {
    raw: NonNull<ffi::RawSettings>,
    scenario: Scenario,
}

// SAFETY: a plain C++ struct without ties to a thread, reached only through this owner.
unsafe impl Send for TestSettings {}

// SAFETY: everything behind `&self` only reads the struct.
unsafe impl Sync for TestSettings {}

impl TestSettings {
    /// Creates settings with LoadGen's defaults, without any configuration file.
    pub fn new(scenario: Scenario, mode: Mode) -> Self {
        // SAFETY: both numbers are enumerators of the C++ enums; `new` does not return null.
        let raw = unsafe { ffi::nd_settings_new(scenario_number(scenario), mode_number(mode)) };
        #[allow(clippy::expect_used, reason = "C++ new throws rather than return null")]
        Self { raw: NonNull::new(raw).expect("operator new returned null"), scenario }
    }

    /// Reads LoadGen's embedded `mlperf.conf` and then, if `path` is given, the user's `user.conf`,
    /// for one model.
    ///
    /// LoadGen allows one user.conf per process. A second one fails here, because it would
    /// invalidate the run.
    pub fn from_config(&mut self, path: Option<&Path>, model: &str) -> Result<(), SettingsError> {
        static USER_CONF_READ: AtomicBool = AtomicBool::new(false);
        if path.is_some() && USER_CONF_READ.swap(true, Ordering::SeqCst) {
            let why =
                "this process has already read a user.conf; start a new process for another run";
            return Err(SettingsError(why.into()));
        }
        let c_path = path.map(|path| c_string(&path.to_string_lossy())).transpose()?;
        let (model, scenario) = (c_string(model)?, c_string(self.scenario.official_name())?);
        let c_path = c_path.as_deref().map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: the handle is alive; all strings end with NUL and outlive the call; null is allowed.
        let failed = unsafe {
            ffi::nd_settings_from_config(
                self.raw.as_ptr(),
                c_path,
                model.as_ptr(),
                scenario.as_ptr(),
            )
        };
        match failed {
            0 => Ok(()),
            _ => {
                let name = path.map_or("its embedded mlperf.conf".into(), |p| p.to_string_lossy());
                Err(SettingsError(format!("LoadGen refuses {name}")))
            }
        }
    }

    /// Returns the settings of a test with this `audit.config`, which overrides these settings.
    pub fn audited(&self, path: &Path) -> Result<Self, SettingsError> {
        let refused = || SettingsError(format!("LoadGen refuses {}", path.display()));
        let c_path = c_string(&path.to_string_lossy())?;
        let scenario = c_string(self.scenario.official_name())?;
        // SAFETY: the handle is alive and only read; both strings end with NUL and outlive the call.
        let raw = unsafe {
            ffi::nd_settings_audited(self.raw.as_ptr(), c_path.as_ptr(), scenario.as_ptr())
        };
        Ok(Self { raw: NonNull::new(raw).ok_or_else(refused)?, scenario: self.scenario })
    }

    /// Returns the scenario of the test.
    pub const fn scenario(&self) -> Scenario {
        self.scenario
    }

    /// Returns the mode of the test; an `audit.config` may have changed it.
    pub fn mode(&self) -> Mode {
        // SAFETY: the handle is alive and only read.
        let number = unsafe { ffi::nd_settings_mode(self.raw.as_ptr()) };
        let all = [Mode::Submission, Mode::Accuracy, Mode::Performance, Mode::FindPeak];
        all.into_iter().find(|mode| mode_number(*mode) == number).unwrap_or_default()
    }

    /// Sets one field. Numbers are decimal, booleans `true` or `false`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingsError> {
        let (c_name, c_value) = (c_string(name)?, c_string(value)?);
        // SAFETY: the handle is alive, both strings end with NUL and outlive the call.
        let outcome =
            unsafe { ffi::nd_settings_set(self.raw.as_ptr(), c_name.as_ptr(), c_value.as_ptr()) };
        match outcome {
            0 => Ok(()),
            1 => {
                let fields = self.fields();
                let meant = did_you_mean(name, fields.iter().map(|(field, _)| field.as_str()));
                Err(SettingsError(format!("LoadGen has no setting `{name}`{meant}")))
            }
            _ => Err(SettingsError(format!(
                "`{value}` is not a value of LoadGen's setting `{name}`"
            ))),
        }
    }

    /// Returns all fields and their values as text.
    pub fn fields(&self) -> Vec<(String, String)> {
        let lines = ffi::collect(|sink, to| {
            // SAFETY: the handle is alive; `sink` and `to` belong together and are not kept.
            unsafe { ffi::nd_settings_each(self.raw.as_ptr(), sink, to) }
        });
        let pair = |line: &String| line.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
        lines.iter().filter_map(pair).collect()
    }

    /// Returns the value of one field as text.
    pub fn field(&self, name: &str) -> Option<String> {
        self.fields().into_iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// Returns how LoadGen counts the tokens of responses.
    pub fn answer_tokens(&self) -> AnswerTokens {
        let counts = self.field("use_token_latencies").is_some_and(|on| on == "true");
        match (counts, self.scenario) {
            (false, _) => AnswerTokens::Uncounted,
            (true, Scenario::Offline) => AnswerTokens::Counted,
            (true, _) => AnswerTokens::First,
        }
    }

    pub(crate) fn has_issue_threads(&self) -> bool {
        self.scenario == Scenario::Server
            && self.field("server_num_issue_query_threads").is_some_and(|number| number != "0")
    }

    pub(crate) fn as_ptr(&self) -> *const ffi::RawSettings {
        self.raw.as_ptr()
    }
}

impl Clone for TestSettings {
    fn clone(&self) -> Self {
        // SAFETY: the handle is alive and only read.
        let raw = unsafe { ffi::nd_settings_clone(self.raw.as_ptr()) };
        #[allow(clippy::expect_used, reason = "C++ new throws rather than return null")]
        Self {
            raw: NonNull::new(raw).expect("operator new returned null"),
            scenario: self.scenario,
        }
    }
}

impl Drop for TestSettings {
    fn drop(&mut self) {
        // SAFETY: created by `nd_settings_new`, `nd_settings_clone` or `nd_settings_audited`, freed
        // once.
        unsafe { ffi::nd_settings_free(self.raw.as_ptr()) }
    }
}

/// `mlperf::LogSettings`; other fields have LoadGen's defaults.
#[derive(Debug, Clone, Default)]
pub struct LogSettings {
    /// Folder of the log files; it must exist.
    pub outdir: String,
    /// Writes a JSON line per sample into the trace file.
    pub enable_trace: bool,
}

pub(crate) fn c_string(text: &str) -> Result<CString, SettingsError> {
    CString::new(text).map_err(|_| SettingsError(format!("`{text}` contains a NUL byte")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_field_can_be_set_to_what_it_says() {
        let mut settings = TestSettings::new(Scenario::Offline, Mode::Performance);
        let fields = settings.fields();
        assert!(fields.len() > 35, "{fields:?}");
        for (name, value) in fields {
            settings.set(&name, &value).unwrap();
        }
    }

    #[test]
    fn unknown_fields_and_wrong_types_are_refused() {
        let mut settings = TestSettings::new(Scenario::Server, Mode::Performance);
        let unknown = settings.set("min_duration", "1").unwrap_err().to_string();
        assert_eq!(
            unknown,
            "LoadGen has no setting `min_duration` (did you mean min_duration_ms?)"
        );
        for (name, value) in [
            ("min_duration_ms", "-1"),
            ("min_duration_ms", "99999999999999999999999"),
            ("server_target_qps", "fast"),
            ("server_coalesce_queries", "1"),
            ("server_find_peak_qps_decimals_of_precision", "1.5"),
        ] {
            let error = settings.set(name, value).unwrap_err().to_string();
            assert!(error.contains("is not a value of"), "{error}");
        }
    }

    #[test]
    fn an_audit_config_changes_what_the_test_does_and_not_the_settings() {
        let settings = TestSettings::new(Scenario::MultiStream, Mode::Accuracy);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.config");
        let lines = "*.*.mode = 2\n*.MultiStream.samples_per_query = 0\n*.Server.mode = 1\n";
        std::fs::write(&path, lines).unwrap();
        let audited = settings.audited(&path).unwrap();
        assert_eq!((audited.mode(), settings.mode()), (Mode::Performance, Mode::Accuracy));
        assert_eq!(audited.field("multi_stream_samples_per_query").unwrap(), "0");
        assert_eq!(settings.field("multi_stream_samples_per_query").unwrap(), "8");
        std::fs::write(&path, "*.*.min_query_count = soon\n").unwrap();
        assert!(settings.audited(&path).is_err());
        assert!(settings.audited(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn the_embedded_mlperf_conf_gives_the_seeds_of_the_round() {
        let mut settings = TestSettings::new(Scenario::Server, Mode::Performance);
        settings.from_config(None, "resnet50").unwrap();
        assert_eq!(settings.field("min_duration_ms").unwrap(), "600000");
        assert_eq!(settings.field("server_target_latency_ns").unwrap(), "15000000");
        assert_ne!(settings.field("qsl_rng_seed").unwrap(), "0");
    }
}
