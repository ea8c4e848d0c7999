//! A test that LoadGen is about to run, with all that it needs besides a system under test.

use std::sync::{Arc, atomic::Ordering};

use loadgen_sys::{AnswerTokens, LogSettings, Mode, StartTestError, SystemUnderTest, TestSettings};
use netdiv_contract::encoding::{Encoded, Encoding};
use netdiv_dataset::{Dataset, Labels};
use netdiv_node_common::resources::{
    files::PlainText,
    memory::{self, TooLittleMemory},
};
use netdiv_qdl::TokenBounds;
use netdiv_receivers::Witness;
use netdiv_rules::user_conf::UserConf;

use crate::{
    RunError, output,
    qsl::{
        labels,
        library::{Library, LoadCheck},
        part, prompts, waveforms,
    },
    run::setup::{
        latency_bounds::LatencyBounds,
        length_estimate::LengthEstimate,
        peak_search::PeakSearch,
        preparation::{self, Numbers, SampleCounts},
        test_settings::{RunSettings, check_settings, test_settings, token_bounds},
    },
    settings::RunConfig,
};

/// Stack size of LoadGen's own thread with the usual `ulimit -s`, in bytes.
const LOADGEN_BYTES: u64 = 8 << 20;

/// Test of a run: all that it needs besides a system under test.
pub struct LoadGenTest {
    pub(crate) config: RunConfig,
    /// Library of samples.
    pub library: Arc<Library>,
    pub(crate) settings: TestSettings,
    pub(crate) expected: LengthEstimate,
    pub(crate) bounds: LatencyBounds,
    /// Facts about the tokens of responses that LoadGen receives.
    pub tokens: AnswerTokens,
    /// LoadGen's latency bounds for tokens, if it has any.
    pub token_bounds: Option<TokenBounds>,
    /// Effects of the lines of user.conf on this run.
    pub(crate) user_conf: UserConf,
    /// The audit.config, which LoadGen opens when its test starts.
    audit_config: Option<PlainText>,
    pub(crate) labels: Option<Labels>,
    /// Records what LoadGen sees, if the run has digests.
    pub(crate) witness: Option<Arc<Witness>>,
}

impl LoadGenTest {
    pub(crate) fn new(config: RunConfig) -> Result<Self, RunError> {
        let data = config.open_dataset()?;
        let RunSettings { given: settings, effective, user_conf, audit_config } =
            test_settings(&config)?;
        check_settings(&config, &effective)?;
        part::check(&config, data.as_ref())?;
        prompts::check(&config, data.as_ref())?;
        waveforms::check(&config, data.as_ref())?;
        let labels = labels::read_labels(&config, data.sample_count())?;
        let (mut tokens, token_bounds) = (effective.answer_tokens(), token_bounds(&effective));
        let is_limited = config.target.nodes().is_some_and(|nodes| nodes.max_in_flight.is_some());
        if is_limited && tokens == AnswerTokens::Counted {
            // netdiv measures the first tokens of such a run itself.
            tokens = AnswerTokens::First;
        }
        let total = data.sample_count();
        let performance = config.performance_samples.unwrap_or(total);
        let samples = SampleCounts { total, performance };
        let expected = LengthEstimate::of(&effective, samples);
        let bounds = LatencyBounds::of(&effective);
        let search = check_memory(&config, &effective, data.as_ref(), samples)?;
        let witness = config.digests.then(|| Arc::new(Witness::new(data.sample_count())));
        let (encoding, samples) = (config.encoding, config.performance_samples);
        let sums = config.checksums;
        let mut library = Library::new(data, encoding, sums, samples, witness.clone());
        library.before_load = search.map(|search| Box::new(move || search.load()) as LoadCheck);
        Ok(Self {
            config,
            library: Arc::new(library),
            settings,
            expected,
            bounds,
            tokens,
            token_bounds,
            user_conf,
            audit_config,
            labels,
            witness,
        })
    }

    /// Returns the number of samples that LoadGen loads in performance mode.
    pub(crate) fn loaded_samples(&self) -> u64 {
        let total = self.library.total_samples();
        let performance = self.config.performance_samples.unwrap_or(total);
        Numbers::of(&self.settings).loaded(SampleCounts { total, performance }).1
    }

    /// Runs LoadGen's test.
    ///
    /// # Errors
    ///
    /// Fails if LoadGen cannot run, or was told to stop.
    pub fn start(&self, sut: &impl SystemUnderTest) -> Result<(), StartTestError> {
        let log = LogSettings {
            outdir: self.config.output.display().to_string(),
            enable_trace: self.config.trace,
        };
        // Connections may have taken memory and descriptors that were free before.
        memory::check_limits(LOADGEN_BYTES).map_err(|error| StartTestError(error.to_string()))?;
        output::try_files(&self.config.output)
            .map_err(|error| StartTestError(error.to_string()))?;
        let audit_config = self.audit_config.as_ref().map(PlainText::path);
        // LoadGen prepares from here on, possibly for long before its first call.
        self.library.owes_calls().store(true, Ordering::SeqCst);
        loadgen_sys::start_test(sut, &*self.library, &self.settings, &log, audit_config)
    }
}

/// Fails if there is not enough memory for a run. For the mode find-peak, also checks the first
/// rates and returns the search.
fn check_memory(
    config: &RunConfig,
    settings: &TestSettings,
    data: &dyn Dataset,
    samples: SampleCounts,
) -> Result<Option<PeakSearch>, RunError> {
    let loaded = Numbers::of(settings).loaded(samples).1 as usize;
    let own_bytes = library_bytes(data, loaded, config.encoding, config.digests).map_err(|error| {
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

/// Returns the memory that a library of that data set needs, in bytes, if `loaded` samples are
/// loaded at the same time. Fails if there is not enough memory.
fn library_bytes(
    dataset: &dyn Dataset,
    loaded: usize,
    encoding: Encoding,
    digests: bool,
) -> Result<u64, TooLittleMemory> {
    let count = dataset.sample_count();
    // Each change copies the table of loaded samples, and up to three copies exist at a time.
    let witness = if digests { Witness::BYTES_PER_SAMPLE } else { 0 };
    let entry = size_of::<usize>() + size_of::<Option<u32>>() + 3 * size_of::<Option<Encoded>>();
    let tables = (count as u64).saturating_mul((entry + witness) as u64);
    memory::check(tables)?;
    let sizes = (0..count).map(|index| dataset.sample_bytes(index));
    let longest = sizes.clone().max().unwrap_or(0);
    let samples: u64 = if encoding != Encoding::None {
        // The encoded lengths are known only when samples are loaded.
        0
    } else if loaded >= count {
        sizes.fold(0, u64::saturating_add)
    } else {
        // LoadGen chooses the samples; the longest ones are an upper bound.
        let mut sorted = memory::list(count)?;
        sorted.extend(sizes);
        sorted.sort_unstable();
        sorted.iter().rev().take(loaded).fold(0, |sum, bytes| sum.saturating_add(*bytes))
    };
    // One sample as it is read and as it is encoded, besides the loaded ones.
    let bytes = tables.saturating_add(samples).saturating_add(longest.saturating_mul(2));
    memory::check(bytes).map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use loadgen_sys::{Abort, Samples};

    use super::*;
    use crate::RunArgs;

    /// System under test whose name is an error: it states whether LoadGen owes calls at that time.
    struct NameProbe<'a>(&'a LoadGenTest);

    impl SystemUnderTest for NameProbe<'_> {
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
        let output = output.display().to_string();
        let mut settings = BTreeMap::from([
            ("nodes", "127.0.0.1:1"),
            ("scenario", "offline"),
            ("benchmark", "fabric"),
            ("dataset", "synthetic:4x4"),
            ("output", output.as_str()),
        ]);
        settings.extend(more.iter().copied());
        let options = settings.iter().map(|(key, value)| format!("--{key}={value}"));
        let args: RunArgs = netdiv_node_common::process::parse_keys(options).unwrap();
        LoadGenTest::new(args.resolve()?)
    }

    #[test]
    fn the_test_owes_calls_as_soon_as_loadgen_prepares() {
        let folder = tempfile::tempdir().unwrap();
        let test = test(folder.path(), &[]).unwrap();
        assert!(!test.library.owes_calls().load(Ordering::SeqCst));
        let error = test.start(&NameProbe(&test)).unwrap_err();
        assert_eq!(error.to_string(), "owes calls: true");
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
            &[("scenario", "multi-stream"), ("audit-config", &file)],
        ] {
            let error = refused(more);
            assert!(error.contains("multi_stream_samples_per_query is 0, and must be"), "{error}");
        }
        let error = refused(&[("dataset", "synthetic:1000000000x1000000")]);
        assert!(error.contains("its samples do not fit"), "{error}");
        let error = refused(&[("audit-config", "/dev/zero")]);
        assert!(error.contains("/dev/zero: it is a device"), "{error}");
    }

    #[test]
    fn a_data_set_that_does_not_fit_is_refused_by_number() {
        let library = |name: &str, loaded, encoding, digests| {
            library_bytes(netdiv_dataset::open(name).unwrap().as_ref(), loaded, encoding, digests)
        };
        let bytes = |name: &str, loaded, digests| library(name, loaded, Encoding::None, digests);
        let all = bytes("synthetic:1000x1000", 1000, false).unwrap();
        let few = bytes("synthetic:1000x1000", 10, false).unwrap();
        assert_eq!(all - few, 990 * 1000);
        assert!(bytes("synthetic:1000x1000", 10, true).unwrap() > few);
        let packed = library("synthetic:1000x1000", 1000, Encoding::Zstd, false).unwrap();
        assert_eq!(all - packed, 1000 * 1000);
        for (name, loaded) in
            [("synthetic:1000000000000x1", 1), ("synthetic:10000000x200000000", 10_000_000)]
        {
            let error = bytes(name, loaded, false).unwrap_err().to_string();
            assert!(error.contains("bytes of memory are needed"), "{error}");
        }
    }
}
