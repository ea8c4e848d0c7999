//! A test that LoadGen is about to run: all that it needs besides a system under test.

use std::sync::Arc;

use loadgen_sys::{LogSettings, StartTestError, SystemUnderTest, TestSettings};
use netdiv_dataset as dataset;

use super::{footprint, library::Library, test_settings::test_settings, witness::Witness};
use crate::{
    RunError,
    settings::{RunConfig, usage},
};

/// All that a run needs besides a system under test.
pub(super) struct LoadGenTest {
    pub(crate) config: RunConfig,
    pub(crate) library: Arc<Library>,
    pub(crate) settings: TestSettings,
    /// Lines of user.conf that have no effect.
    pub(crate) warnings: Vec<String>,
    pub(crate) labels: Option<Vec<i64>>,
    /// Told what LoadGen sees, where the run has digests.
    pub(crate) witness: Option<Arc<Witness>>,
}

impl LoadGenTest {
    pub(crate) fn new(config: RunConfig) -> Result<Self, RunError> {
        let data = dataset::open(&config.dataset)?;
        let labels = labels(&config, data.sample_count())?;
        let loaded = config.performance_samples.unwrap_or(usize::MAX);
        footprint::of_library(data.as_ref(), loaded, config.digests).map_err(|error| {
            RunError::Usage(format!(
                "data set {}: its samples do not fit: {error}. Use fewer (--performance-samples, or a smaller data set)",
                data.name()
            ))
        })?;
        let witness = config.digests.then(|| Arc::new(Witness::new(data.sample_count())));
        let (encoding, samples) = (config.encoding, config.performance_samples);
        let sums = config.checksums;
        let library = Arc::new(Library::new(data, encoding, sums, samples, witness.clone()));
        let (settings, warnings) = test_settings(&config)?;
        Ok(Self { config, library, settings, warnings, labels, witness })
    }

    /// Lets LoadGen run its test.
    pub(super) fn start(&self, sut: &impl SystemUnderTest) -> Result<(), StartTestError> {
        let log = LogSettings {
            outdir: self.config.output.display().to_string(),
            enable_trace: self.config.trace,
            ..LogSettings::default()
        };
        let audit_config = &self.config.audit_config;
        loadgen_sys::start_test(sut, self.library.as_ref(), &self.settings, &log, audit_config)
    }
}

/// The labels of the data set, if there are any; as many as samples.
fn labels(config: &RunConfig, samples: usize) -> Result<Option<Vec<i64>>, RunError> {
    let labels = match &config.labels {
        Some(path) => dataset::labels_of_file(path)?,
        None if config.dataset == dataset::DIGITS => dataset::digits_labels()?,
        None => return Ok(None),
    };
    if labels.len() != samples {
        let labels = labels.len();
        return usage(format!("{labels} labels for {samples} samples"));
    }
    Ok(Some(labels))
}
