//! Plan of a run: its duration, queries, memory and bandwidth.

mod needs;
mod runs;
mod table;
mod tokens;

use netdiv_contract::limits::MAX_PAYLOAD_BYTES;
use serde::Serialize;

use self::runs::SECONDS;
pub use self::{
    needs::Needs,
    runs::{PlannedRun, QueryCount},
    table::duration,
    tokens::{RATES, Rate},
};
pub use crate::judge::limits::OFFLINE_SLACK;
use crate::{
    Scenario,
    book::{Bandwidth, Benchmark, Table, TokenLimits},
    judge::check_suite,
    statistics::{max_overlatency, min_queries, suggested_queries},
};

/// Estimates the memory that LoadGen v5.0 needs to prepare queries and samples, and to store their
/// latencies, in bytes. The constants are measured.
pub fn loadgen_bytes(queries: u64, samples: u64) -> u64 {
    // Bytes of a query in the list of queries, of its other data, and of a sample.
    const LISTED: u128 = 184;
    const QUERY: u128 = 88;
    const SAMPLE: u128 = 60;
    let (queries, samples) = (u128::from(queries), u128::from(samples));
    // The list doubles when it is full; during the copy both lists exist.
    let half = queries.next_power_of_two() / 2;
    let doubling = half * (2 * LISTED + QUERY) + samples * half / queries.max(1) * SAMPLE;
    let whole = queries * (LISTED + QUERY) + samples * SAMPLE;
    u64::try_from(whole.max(doubling)).unwrap_or(u64::MAX)
}

/// Plan of a performance run at a rate, and of its accuracy run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Scenario of the run.
    pub scenario: Scenario,
    /// Rate of the plan, in samples per second.
    pub samples_per_second: f64,
    /// Number of queries that LoadGen issues; an estimate in Server and the streams.
    pub queries: u64,
    /// Number of samples in these queries.
    pub samples: u64,
    /// Duration of the performance run at that rate, in seconds.
    pub seconds: f64,
    /// Memory that LoadGen needs to prepare the queries, in bytes.
    pub loadgen_bytes: u64,
    /// Number of samples in the accuracy run.
    pub accuracy_samples: u64,
    /// Duration of the accuracy run at that rate, in seconds.
    pub accuracy_seconds: f64,
    /// Limits of the tokens that a language model reads and writes in a performance run.
    pub tokens: Option<TokenLimits>,
    /// Mean number of a language model's output tokens, if it is known.
    pub mean_output_tokens: Option<f64>,
    /// Requirements on the LoadGen node and on the SUT nodes, for each encoding of a sample.
    pub needs: Vec<Needs>,
    /// Early stopping; `None` in Offline, which has no latency bound.
    pub early_stopping: Option<EarlyStopping>,
    /// All runs of a submission of the benchmark at that rate; empty if the benchmark cannot be
    /// submitted.
    pub runs: Vec<PlannedRun>,
    /// Problems of the plan, each with its remedy.
    pub notes: Vec<String>,
}

impl Plan {
    /// Removes the runs with digests, which only the Network division requires.
    pub fn leave_out_digests(&mut self) {
        self.runs.retain(|run| run.purpose != "digests");
    }
}

/// Numbers of overlatency queries (queries that exceed the latency bound) that early stopping
/// permits (rules, Appendix A).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EarlyStopping {
    /// Percentile of the latencies that early stopping judges, as a share from 0 to 1.
    pub percentile: f64,
    /// Numbers of overlatency queries, each with the minimum number of queries in a valid run.
    pub least_queries: Vec<(u64, u64)>,
    /// Maximum number of overlatency queries in a valid run of the planned queries; `None` if the
    /// plan has too few queries for a valid result.
    pub allowed: Option<u64>,
    /// Number of queries that section 3 suggests to start with.
    pub suggested_queries: u64,
}

/// Plans a run of a benchmark at a rate. `output_tokens` is the mean number of output tokens;
/// `None` selects the number in the table. The error is the reason why there is no plan, such as an
/// unknown benchmark.
pub fn plan(
    table: &Table,
    benchmark: &str,
    scenario: Scenario,
    rate: Rate,
    output_tokens: Option<f64>,
) -> Result<Plan, String> {
    let benchmark = table.known(benchmark)?;
    if let Some(why) = table.refusal(&benchmark.name) {
        return Err(why);
    }
    let (samples_per_second, mean) = tokens::rates(benchmark, rate, output_tokens)?;
    let (queries, samples) = runs::issued(benchmark, scenario, samples_per_second, SECONDS);
    // For the streams LoadGen prepares twice as many queries, in case the SUT is faster than
    // expected.
    let is_stream = matches!(scenario, Scenario::SingleStream | Scenario::MultiStream);
    let times = if is_stream { 2 } else { 1 };
    let prepared = loadgen_bytes(queries.saturating_mul(times), samples.saturating_mul(times));
    let early_stopping = early_stopping(scenario, queries);
    let mut notes = Vec::new();
    let mut runs = runs::runs(benchmark, samples_per_second);
    let name = &benchmark.name;
    if let Some(text) = check_suite(table, name) {
        runs.clear();
        notes.push(text);
    } else if !benchmark.scenarios.contains(&scenario) {
        let required = benchmark.required_scenarios();
        notes.push(format!("the rules require {required} for {name}, section 4.1.1"));
    }
    if let Some(EarlyStopping { allowed: None, percentile, .. }) = early_stopping {
        // The streams need an overlatency query, because its latency is the result.
        let least = min_queries(least_overlatency(scenario), percentile);
        notes.push(format!(
            "{queries} queries are too few for a valid result: set min_query_count to {least} or more in user.conf"
        ));
    }
    let too_large = |sent: &&Bandwidth| sent.ingress_bytes() > MAX_PAYLOAD_BYTES as u64;
    notes.extend(of_two_sets(benchmark));
    let source = benchmark.sources.get("mean_output_tokens").filter(|_| output_tokens.is_none());
    notes.extend(
        mean.zip(source).map(|(mean, source)| format!("{mean} tokens on average: {source}")),
    );
    notes.extend(benchmark.bandwidth.iter().filter(too_large).map(|sent| {
        let (bytes, name) = (sent.ingress_bytes(), &sent.name);
        format!("a sample of {name} has {bytes} bytes; at most {MAX_PAYLOAD_BYTES} can be sent")
    }));
    Ok(Plan {
        benchmark: benchmark.name.clone(),
        scenario,
        samples_per_second,
        queries,
        samples,
        seconds: samples as f64 / samples_per_second,
        loadgen_bytes: prepared,
        accuracy_samples: benchmark.dataset_samples,
        accuracy_seconds: benchmark.dataset_samples as f64 / samples_per_second,
        tokens: benchmark.performance_tokens(),
        mean_output_tokens: mean,
        needs: benchmark.bandwidth.iter().map(|sent| Needs::of(benchmark, sent)).collect(),
        early_stopping,
        runs,
        notes,
    })
}

/// Returns a remark on a benchmark whose accuracy run has another data set, with longer outputs.
fn of_two_sets(benchmark: &Benchmark) -> Option<String> {
    let most = benchmark.tokens().filter(|_| benchmark.own_performance_set)?.output_max;
    Some(format!(
        "the accuracy run has another data set, whose outputs are longer, up to {most} tokens: it takes longer than planned here"
    ))
}

fn least_overlatency(scenario: Scenario) -> u64 {
    u64::from(scenario != Scenario::Server)
}

fn early_stopping(scenario: Scenario, queries: u64) -> Option<EarlyStopping> {
    let (percentile, margin) = match scenario {
        Scenario::Offline => return None,
        Scenario::SingleStream => (0.9, 0.005),
        Scenario::Server | Scenario::MultiStream => (0.99, 0.0005),
    };
    let least = |overlatency| min_queries(overlatency, percentile);
    let steps = [0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000];
    let steps = steps.into_iter().filter(|step| *step >= least_overlatency(scenario));
    let mut least_queries: Vec<_> = steps.map(|step| (step, least(step))).collect();
    // One step beyond the run shows the gain from a longer run.
    let within = least_queries.iter().filter(|(_, least)| *least <= queries).count();
    least_queries.truncate((within + 1).max(4));
    let allowed = max_overlatency(queries, percentile);
    Some(EarlyStopping {
        percentile,
        least_queries,
        allowed: allowed.filter(|allowed| *allowed >= least_overlatency(scenario)),
        suggested_queries: suggested_queries(percentile, margin),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(benchmark: &str, scenario: Scenario, rate: f64) -> Plan {
        let rate = Rate::SamplesPerSecond(rate);
        plan(Table::builtin().unwrap(), benchmark, scenario, rate, None).unwrap()
    }

    #[test]
    fn offline_has_a_tenth_more_and_never_less_than_the_rules_ask() {
        let fast = of("resnet50", Scenario::Offline, 100_000.0);
        assert_eq!(
            (fast.queries, fast.samples, fast.loadgen_bytes),
            (1, 66_000_000, 3_960_000_272)
        );
        assert!((fast.seconds - 660.0).abs() < 1e-9);
        let slow = of("resnet50", Scenario::Offline, 10.0);
        assert_eq!((slow.samples, slow.early_stopping.clone()), (24_576, None));
        assert!(fast.text().contains("*.Offline.target_qps = 100000,"), "{}", fast.text());
        // Both scenarios: 600 s and 660 s, three times each; the digests' 60 s and 66 s; the data
        // set twice.
        assert!(
            fast.text().contains("\n  all runs                            3907 s\n"),
            "{}",
            fast.text()
        );
        let mut closed = fast;
        closed.leave_out_digests();
        let all = "\n  all runs                            3781 s\n";
        assert!(closed.text().contains(all), "{}", closed.text());
        assert!(slow.text().contains("2457.6 s") || slow.text().contains("2458 s"));
    }

    #[test]
    fn server_runs_ten_minutes_within_what_early_stopping_allows() {
        let plan = of("resnet50", Scenario::Server, 20_000.0);
        assert_eq!((plan.queries, plan.samples), (12_000_000, 12_000_000));
        let early = plan.early_stopping.unwrap();
        assert_eq!(early.least_queries[..3], [(0, 459), (1, 662), (10, 2010)]);
        assert_eq!(early.least_queries.last(), Some(&(1_000_000, min_queries(1_000_000, 0.99))));
        let allowed = early.allowed.unwrap();
        assert!((119_000..120_000).contains(&allowed), "{allowed}");
        assert_eq!(early.suggested_queries, 270_336);
    }

    #[test]
    fn too_few_queries_are_said_with_what_helps() {
        let plan = of("resnet50", Scenario::Server, 0.5);
        assert_eq!((plan.queries, plan.early_stopping.unwrap().allowed), (300, None));
        assert!(plan.notes[0].contains("min_query_count to 459"), "{:?}", plan.notes);
        let stream = of("bert-99", Scenario::SingleStream, 0.01);
        assert_eq!(stream.queries, 100);
        assert_eq!(stream.notes.len(), 1, "{:?}", stream.notes);
        assert!(stream.notes[0].contains("edge suite only"), "{:?}", stream.notes);
        assert_eq!(stream.early_stopping.unwrap().least_queries[0], (1, 64));
        let multi = of("resnet50", Scenario::MultiStream, 800.0);
        assert_eq!((multi.queries, multi.samples), (60_000, 480_000));
        assert_eq!(multi.loadgen_bytes, loadgen_bytes(120_000, 960_000));
        assert!(multi.notes[0].contains("require server and offline"), "{:?}", multi.notes);
        let retired = of("rnnt", Scenario::Offline, 1.0);
        assert!(retired.notes[0].contains("no longer a benchmark"));
        assert!(retired.runs.is_empty() && !retired.text().contains("all runs"));
    }

    #[test]
    fn the_network_carries_what_appendix_b_asks() {
        let text = of("resnet50", Scenario::Offline, 20_000.0).text();
        assert!(text.contains("3.0 GB/s (24.1 Gb/s) to the SUT, negligible back"), "{text}");
        assert!(text.contains("12.0 GB/s (96.3 Gb/s)"), "{text}");
        let text = of("3d-unet-99.9", Scenario::Offline, 10.0).text();
        assert!(
            text.contains("329 MB/s (2.6 Gb/s) to the SUT, 329 MB/s (2.6 Gb/s) back"),
            "{text}"
        );
        let text = of("llama3.1-405b", Scenario::Server, 2.0).text();
        assert!(text.contains("160 kB/s (1.3 Mb/s) back"), "{text}");
        assert!(text.contains("0 over the bound: 459 queries or more"), "{text}");
    }

    #[test]
    fn a_language_model_reads_and_writes_so_many_tokens() {
        let text = of("llama2-70b-99", Scenario::Offline, 100.0).text();
        // 66,000 samples are three passes of the data set, 73,728.
        for want in [
            "737 s",
            "prompts          at most 1024 tokens",
            "1 to 1024 tokens; with 294.45 on average: 29.4 ktokens/s, 21.7 Mtokens in this run, and 118 kB/s of int32 ids back",
            "410 kB/s (3.3 Mb/s) to the SUT, 410 kB/s (3.3 Mb/s) back: 1024 in and out, int32",
        ] {
            assert!(text.contains(want), "{want}\n{text}");
        }
        let text = of("llama3.1-8b", Scenario::Server, 100.0).text();
        assert!(text.contains("with the longest: 12.8 ktokens/s"), "{text}");
        assert!(!of("resnet50", Scenario::Offline, 1.0).text().contains("prompts"));
        let text = of("gpt-oss-120b", Scenario::Offline, 100.0).text();
        // 66,000 samples are eleven passes of the data set, 70,356.
        for want in [
            "1 with 70356 samples",
            "accuracy run     4395 samples, 44 s",
            "at most 15330 tokens",
            "1 to 10240 tokens; with 1278.2 on average: 128 ktokens/s",
            "note             1278.2 tokens on average: the middle of TEST09's range",
            "whose outputs are longer, up to 32768 tokens",
        ] {
            assert!(text.contains(want), "{want}\n{text}");
        }
    }

    #[test]
    fn memory_is_what_was_measured_to_a_tenth() {
        // Queries, samples, and the peak memory before the first query was issued, in KiB.
        for (queries, samples, kib) in [
            (1, 33_000_000, 1_808_684),
            (4_100_000, 4_100_000, 1_271_632),
            (8_500_000, 8_500_000, 4_493_436),
            (16_000_000, 16_000_000, 4_983_660),
            (1_000_000, 8_000_000, 636_940),
        ] {
            let ratio = loadgen_bytes(queries, samples) as f64 / (1024.0 * f64::from(kib));
            assert!((0.9..1.25).contains(&ratio), "{queries} queries: {ratio}");
        }
        assert_eq!(loadgen_bytes(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(loadgen_bytes(0, 0), 0);
    }

    #[test]
    fn nonsense_is_no_plan() {
        let error = |name, rate| {
            let rate = Rate::SamplesPerSecond(rate);
            let table = Table::builtin().unwrap();
            plan(table, name, Scenario::Offline, rate, None).unwrap_err()
        };
        assert!(error("gptk", 1.0).starts_with("there is no benchmark gptk (did you mean gptj-99"));
        assert!(error("dlrm-v3", 1.0).contains("its queries are issued in the order"));
        assert!(error("rgat", 0.0).contains("it must be from 0.000001 to 100000000"));
        assert!(error("rgat", f64::NAN).contains("it must be from 0.000001 to 100000000"));
    }
}
