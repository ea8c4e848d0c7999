//! A test that LoadGen is about to run: all that it needs besides a system under test.

use std::sync::{Arc, atomic::Ordering};

use loadgen_sys::{
    AnswerTokens, LogSettings, Mode, QuerySampleLibrary, StartTestError, SystemUnderTest,
    TestSettings,
};
use netdiv_dataset::{self as dataset, Dataset, Labels};
use netdiv_qdl::TokenBounds;
use netdiv_resources::plain::PlainText;
use netdiv_rules::user_conf::UserConf;

use super::{
    expected::Expected,
    footprint,
    library::Library,
    peak_search::{PeakSearch, Searching},
    phases::Phases,
    preparation::{self, Samples},
    prompts,
    test_settings::{RunSettings, check_settings, test_settings, token_bounds},
    witness::Witness,
};
use crate::{
    RunError, output,
    settings::{RunConfig, usage},
};

/// All that a run needs besides a system under test.
pub(super) struct LoadGenTest {
    pub(crate) config: RunConfig,
    pub(crate) library: Arc<Library>,
    pub(crate) settings: TestSettings,
    pub(super) phases: Phases,
    /// How much the test has before it.
    pub(super) expected: Expected,
    /// What LoadGen is told of the tokens of answers.
    pub(crate) tokens: AnswerTokens,
    /// Its bounds for them, where it has any.
    pub(crate) token_bounds: Option<TokenBounds>,
    /// The lines of user.conf, by their effect.
    pub(crate) user_conf: UserConf,
    /// The audit.config, which LoadGen opens when its test starts.
    audit_config: Option<PlainText>,
    pub(crate) labels: Option<Labels>,
    /// Told what LoadGen sees, where the run has digests.
    pub(crate) witness: Option<Arc<Witness>>,
    /// In the mode find-peak.
    search: Option<PeakSearch>,
}

impl LoadGenTest {
    pub(crate) fn new(config: RunConfig) -> Result<Self, RunError> {
        let phases = Phases::new("prepare");
        let data = dataset::open(&config.dataset)?;
        let labels = labels(&config, data.sample_count())?;
        let RunSettings { given: settings, effective, user_conf, audit_config } =
            test_settings(&config)?;
        check_settings(&config, &effective)?;
        prompts::check(&config, data.as_ref())?;
        let (tokens, token_bounds) = (effective.answer_tokens(), token_bounds(&effective));
        let expected = Expected::of(&effective, data.sample_count());
        let search = check_memory(&config, &effective, data.as_ref())?;
        let witness = config.digests.then(|| Arc::new(Witness::new(data.sample_count())));
        let (encoding, samples) = (config.encoding, config.performance_samples);
        let sums = config.checksums;
        let library = Arc::new(Library::new(data, encoding, sums, samples, witness.clone()));
        Ok(Self {
            config,
            library,
            settings,
            expected,
            phases,
            tokens,
            token_bounds,
            user_conf,
            audit_config,
            labels,
            witness,
            search,
        })
    }

    /// Lets LoadGen run its test.
    pub(super) fn start(&self, sut: &impl SystemUnderTest) -> Result<(), StartTestError> {
        let log = LogSettings {
            outdir: self.config.output.display().to_string(),
            enable_trace: self.config.trace,
            ..LogSettings::default()
        };
        let audit_config = self.audit_config.as_ref().map(PlainText::path);
        // It is preparing from here on, and may do so for long before its first call.
        self.library.owes_calls().store(true, Ordering::SeqCst);
        let library = self.library.as_ref();
        let searching = self.search.as_ref().map(|search| Searching { library, search });
        let library = searching.as_ref().map_or(library as &dyn QuerySampleLibrary, |qsl| qsl);
        loadgen_sys::start_test(sut, library, &self.settings, &log, audit_config)
    }
}

/// Refuses a run for which there is not enough memory. How far a search may go is checked with its first rates.
fn check_memory(
    config: &RunConfig,
    settings: &TestSettings,
    data: &dyn Dataset,
) -> Result<Option<PeakSearch>, RunError> {
    let total = data.sample_count();
    let samples = Samples { total, performance: config.performance_samples.unwrap_or(total) };
    let loaded = preparation::loaded_samples(settings, samples);
    let own_bytes = footprint::of_library(data, loaded, config.encoding, config.digests).map_err(|error| {
        RunError::Usage(format!(
            "data set {}: its samples do not fit: {error}. Use fewer (--performance-samples, or a smaller data set)",
            data.name()
        ))
    })?;
    preparation::check(settings, config.scenario, samples, own_bytes).map_err(RunError::Usage)?;
    let log = config.output.join(output::DETAIL);
    let search = || PeakSearch::new(settings, samples, own_bytes, log);
    (settings.mode() == Mode::FindPeak).then(search).transpose().map_err(RunError::Usage)
}

/// The labels of the data set, if there are any; as many as samples.
fn labels(config: &RunConfig, samples: usize) -> Result<Option<Labels>, RunError> {
    let labels = match &config.labels {
        Some(path) => Some(Labels::of_file(path)?),
        None => Labels::of_dataset(&config.dataset)?,
    };
    let Some(labels) = labels else { return Ok(None) };
    if labels.count() != samples {
        let labels = labels.count();
        return usage(format!("{labels} labels for {samples} samples"));
    }
    let is_answer = |label: &i64| i32::try_from(*label).is_ok();
    if let Labels::Classes(classes) = &labels
        && let Some(sample) = classes.iter().position(|label| !is_answer(label))
    {
        let label = classes[sample];
        return usage(format!(
            "the label of sample {sample} is {label}, and answers are int32: give the number of its class"
        ));
    }
    Ok(Some(labels))
}

#[cfg(test)]
mod tests {
    use loadgen_sys::{Abort, Samples};

    use super::*;
    use crate::RunArgs;

    /// Is asked for its name, and says whether the test owes calls by then.
    struct Asked<'a>(&'a LoadGenTest);

    impl SystemUnderTest for Asked<'_> {
        fn name(&self) -> Result<String, Abort> {
            Err(Abort(format!(
                "owes calls: {}",
                self.0.library.owes_calls().load(Ordering::SeqCst)
            )))
        }

        fn issue_query(&self, _: Samples<'_>) -> Result<(), Abort> {
            Ok(())
        }

        fn flush_queries(&self) -> Result<(), Abort> {
            Ok(())
        }

        fn abandoned(&self, _: Abort) {}
    }

    fn test(output: &std::path::Path, more: &[(&str, &str)]) -> Result<LoadGenTest, RunError> {
        let mut settings = serde_json::json!({
            "nodes": ["127.0.0.1:1"], "scenario": "offline", "benchmark": "fabric",
            "dataset": "synthetic:4x4", "output": output,
        });
        for (key, value) in more {
            settings[key] =
                if *key == "setting" { serde_json::json!([value]) } else { (*value).into() };
        }
        let args: RunArgs = serde_json::from_value(settings).unwrap();
        LoadGenTest::new(args.resolve()?)
    }

    #[test]
    fn the_test_owes_calls_as_soon_as_loadgen_prepares() {
        let folder = tempfile::tempdir().unwrap();
        let test = test(folder.path(), &[]).unwrap();
        assert!(!test.library.owes_calls().load(Ordering::SeqCst));
        let error = test.start(&Asked(&test)).unwrap_err();
        assert_eq!(error.to_string(), "owes calls: true");
    }

    #[test]
    fn labels_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("labels.npy");
        let refused = |labels: &[i64]| {
            let shape = labels.len();
            let header =
                format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({shape},), }}");
            let header = format!("{header:<117}\n");
            let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
            bytes.extend(header.bytes());
            bytes.extend(labels.iter().flat_map(|label| label.to_le_bytes()));
            std::fs::write(&file, bytes).unwrap();
            let labels = ("labels", file.to_str().unwrap());
            test(folder.path(), &[labels]).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&[0, -1, 2, i64::from(i32::MAX)]), None);
        assert!(refused(&[0, 1, 2]).unwrap().contains("3 labels for 4 samples"));
        let error = refused(&[0, 1, 1 << 31, 3]).unwrap();
        assert!(error.contains("the label of sample 2 is 2147483648"), "{error}");
    }

    #[test]
    fn settings_of_every_source_are_checked_as_they_are_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.config");
        std::fs::write(&file, "*.MultiStream.samples_per_query = 0\n").unwrap();
        let file = file.display().to_string();
        let refused = |more: &[(&str, &str)]| test(folder.path(), more).err().unwrap().to_string();
        for more in [
            &[("scenario", "multi-stream"), ("setting", "multi_stream_samples_per_query=0")][..],
            &[("scenario", "multi-stream"), ("audit_config", &file)],
        ] {
            let error = refused(more);
            assert!(error.contains("multi_stream_samples_per_query is 0, and must be"), "{error}");
        }
        let error = refused(&[("dataset", "synthetic:1000000000x1000000")]);
        assert!(error.contains("its samples do not fit"), "{error}");
        let error = refused(&[("audit_config", "/dev/zero")]);
        assert!(error.contains("/dev/zero: it is a device"), "{error}");
    }
}
