//! Search of the mode find-peak. LoadGen raises the rate step by step as long as the nodes keep up
//! with it, and then searches between the last two rates. Each rate is a separate test, which
//! LoadGen prepares in memory. The search is limited to rates that it can prepare.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use loadgen_sys::TestSettings;
use netdiv_node_common::{resources::files, words::Scenario};

use crate::run::setup::{
    loadgen_bounds,
    preparation::{self, Numbers, SampleCounts},
};

const RATE: &str = "server_target_qps";
const STEP: &str = "server_find_peak_qps_boundary_step_size";
const DECIMALS: &str = "server_find_peak_qps_decimals_of_precision";

/// Bytes of the latencies that LoadGen keeps for each sample at each rate until the search ends:
/// three lists.
const KEPT_BYTES: f64 = 24.0;

/// Texts in LoadGen's detail log: before each rate that is higher than all before it, and when the
/// highest is found.
const HIGHER: &str = "FindBoundaries: Checking fields [";
const FOUND: &str = "FindPeakPerformance: Found boundaries: [";

/// Time limit and interval for reading LoadGen's log, which it writes every few milliseconds.
const LOG_TIME: Duration = Duration::from_secs(1);
const LOG_PERIOD: Duration = Duration::from_millis(10);

/// Limit of a search: the rates that LoadGen can prepare, and its loads of samples so far.
#[derive(Debug)]
pub(crate) struct PeakSearch {
    /// Number of rates that LoadGen can prepare, from the first on.
    rates: usize,
    /// Reason why LoadGen cannot prepare the next rate.
    limit: String,
    log: PathBuf,
    /// Number of times that LoadGen has loaded samples: for each rate that is higher than those
    /// before, and once to search between two rates.
    loads: AtomicUsize,
}

impl PeakSearch {
    /// Creates a search with these settings, besides which `other_bytes` are needed. Fails if it
    /// could not go beyond its first rate.
    pub(crate) fn new(
        settings: &TestSettings,
        samples: SampleCounts,
        other_bytes: u64,
        log: PathBuf,
    ) -> Result<Self, String> {
        let numbers = Numbers::of(settings);
        let (mut rate, step) = (numbers.real(RATE), numbers.real(STEP));
        let seconds = numbers.real("min_duration_ms") / 1000.0;
        let least = numbers.real("min_query_count");
        let scale = 10_f64.powf(numbers.real(DECIMALS));
        let (mut kept, mut rates) = (0.0, 0);
        let limit = loop {
            let mut tried = settings.clone();
            tried.set(RATE, &rate.to_string()).map_err(|error| error.to_string())?;
            // After the last rate, LoadGen halves the distance to the rate before it, until it is
            // as short as requested.
            let halves = if rates == 0 { 0.0 } else { (scale * rate).log2().max(0.0) };
            let latencies = KEPT_BYTES * least.max(seconds * rate);
            let bytes = other_bytes.saturating_add((kept + halves * latencies) as u64);
            let prepared = loadgen_bounds::check(&tried)
                .and_then(|()| preparation::check(&tried, Scenario::Server, samples, bytes));
            if let Err(why) = prepared {
                break format!("at {rate} queries per second, {why}");
            }
            kept += latencies;
            rates += 1;
            rate *= 1.0 + step;
        };
        if rates < 2 {
            return Err(format!(
                "find-peak needs a second rate, which {STEP} raises, and LoadGen cannot prepare it: {limit}"
            ));
        }
        Ok(Self { rates, limit, log, loads: AtomicUsize::new(0) })
    }

    /// Checks, when LoadGen loads samples again, that it can prepare the next rate.
    pub(crate) fn load(&self) -> Result<(), String> {
        let loads = self.loads.fetch_add(1, Ordering::SeqCst);
        if loads < self.rates || self.has_found(loads) {
            return Ok(());
        }
        let (rates, limit) = (self.rates, &self.limit);
        Err(format!(
            "find-peak: the nodes keep up with all {rates} rates that can be tried: {limit}"
        ))
    }

    /// Returns true if LoadGen searches between two rates, and false if it tries a higher one. Its
    /// calls are the same, but its log differs before each load except the first.
    fn has_found(&self, loads: usize) -> bool {
        let started = Instant::now();
        while started.elapsed() < LOG_TIME {
            let log = files::read_text(&self.log).unwrap_or_default();
            if log.contains(FOUND) {
                return true;
            }
            if log.matches(HIGHER).count() >= loads {
                return false;
            }
            thread::sleep(LOG_PERIOD);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use loadgen_sys::Mode;
    use netdiv_node_common::resources::memory;
    use netdiv_rules::plan::loadgen_bytes;

    use super::*;

    const SAMPLES: SampleCounts = SampleCounts { total: 64, performance: 64 };

    fn search(fields: &[(&str, &str)]) -> Result<PeakSearch, String> {
        let mut settings = TestSettings::new(Scenario::Server, Mode::FindPeak);
        settings.from_config(None, "fabric").unwrap();
        for (field, value) in fields {
            settings.set(field, value).unwrap();
        }
        PeakSearch::new(&settings, SAMPLES, 0, "/nowhere".into())
    }

    #[test]
    fn each_rate_that_will_be_tried_has_to_fit() {
        let short = ("min_duration_ms", "1");
        let of = |rate, step| search(&[short, (RATE, rate), (STEP, step)]);
        // 10, 20, 40 … up to the last below 10⁸.
        assert_eq!(of("10", "1").unwrap().rates, 24);
        assert!(of("10", "1").unwrap().limit.contains("server_target_qps is 1"));
        assert_eq!(of("1000000", "10").unwrap().rates, 2);
        let error = of("10000000", "10").unwrap_err();
        assert!(error.contains("at 110000000 queries per second"), "{error}");
        // The queries of the first rate take a hundredth of the memory.
        let rate = (memory::available().bytes / 100 / loadgen_bytes(1, 1) / 1000).to_string();
        let long = |step| search(&[("min_duration_ms", "1000000"), (RATE, &rate), (STEP, step)]);
        assert!((2..8).contains(&long("1").unwrap().rates));
        let error = long("100").unwrap_err();
        assert!(error.contains("more than LoadGen can prepare here"), "{error}");
    }

    #[test]
    fn a_search_ends_where_the_next_rate_cannot_be_prepared() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let search = |text: &str| {
            std::fs::write(&log, text).unwrap();
            let (rates, limit, loads) = (2, "too much".into(), AtomicUsize::new(0));
            let search = PeakSearch { rates, limit, log: log.clone(), loads };
            search.load().unwrap();
            search.load().unwrap();
            search.load()
        };
        let higher = format!("x {HIGHER}1, 2)\n");
        for text in [higher.repeat(2), higher.clone(), String::new()] {
            let error = search(&text).unwrap_err();
            assert!(error.contains("keep up with all 2 rates that can be tried: too much"));
        }
        search(&format!("{higher}x {FOUND}1, 2)\n")).unwrap();
    }
}
