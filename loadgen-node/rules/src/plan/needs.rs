//! Requirements of a benchmark's samples and weights on both ends: payloads, memory, and the
//! admission of a node.

use netdiv_contract::limits::{DEFAULT_IN_FLIGHT_BYTES, DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES};
use serde::Serialize;

use crate::book::{Bandwidth, Benchmark};

/// Number of batches that a node should have room for: one in computation, one in copying, and two
/// that arrive meanwhile.
const BATCHES: u64 = 4;
/// Maximum value of `--max-in-flight-bytes`, a power of two.
const MOST_IN_FLIGHT: u64 = 1 << 31;
/// Minimum number of samples in a useful batch.
const LEAST_BATCH: u64 = 2;
/// Maximum size of a sample divided by the mean size: a node should have room for such samples, if
/// samples differ in size.
const LARGEST: u64 = 2;

/// Requirements of a benchmark for one encoding of its samples: memory of the LoadGen node, and
/// memory and settings of a SUT node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Needs {
    /// Name of the benchmark, or of one of its encodings.
    pub name: String,
    /// Formula of Appendix B for the bytes of a sample, with element types.
    pub formula: String,
    /// Bytes of a sample; 0 if negligible.
    pub sample_bytes: u64,
    /// Bytes of a response; 0 if negligible.
    pub answer_bytes: u64,
    /// Bytes of the samples that LoadGen loads for a performance run.
    pub loaded_bytes: u64,
    /// Bytes of all samples in the data set, which LoadGen loads for an accuracy run.
    pub all_bytes: u64,
    /// Bytes of the model's weights at half precision, if their number is known.
    pub weight_bytes: Option<u64>,
    /// Maximum size of a batch for which a node with these settings admits enough samples to keep
    /// its device busy; `None` if any size works.
    pub batch: Option<u64>,
    /// Value of `--max-payload-bytes` for a node; `None` if the default suffices.
    pub max_payload_bytes: Option<u64>,
    /// Value of `--max-in-flight-bytes` for a node; `None` if the default suffices.
    pub max_in_flight_bytes: Option<u64>,
}

impl Needs {
    pub(super) fn of(benchmark: &Benchmark, bandwidth: &Bandwidth) -> Self {
        let (sample_bytes, answer_bytes) = (bandwidth.ingress_bytes(), bandwidth.egress_bytes());
        // A node reserves room for a sample with its response.
        let both = sample_bytes.saturating_add(answer_bytes);
        let least = both.saturating_mul(BATCHES * LEAST_BATCH);
        let largest =
            if bandwidth.mean { sample_bytes.saturating_mul(LARGEST) } else { sample_bytes };
        // The smallest power of two that is at least `least` and that a node accepts.
        let raised = |least: u64, default: u64, most: u64| {
            (least > default).then(|| least.checked_next_power_of_two().unwrap_or(most).min(most))
        };
        let payload = raised(largest, DEFAULT_PAYLOAD_BYTES as u64, MAX_PAYLOAD_BYTES as u64);
        let in_flight = raised(least, DEFAULT_IN_FLIGHT_BYTES.into(), MOST_IN_FLIGHT);
        let room = in_flight.unwrap_or(DEFAULT_IN_FLIGHT_BYTES.into());
        Self {
            name: bandwidth.name.clone(),
            formula: bandwidth.formula.clone(),
            sample_bytes,
            answer_bytes,
            loaded_bytes: sample_bytes.saturating_mul(benchmark.qsl_size),
            all_bytes: sample_bytes.saturating_mul(benchmark.dataset_samples),
            weight_bytes: benchmark.weights_millions.map(|millions| (millions * 2e6) as u64),
            batch: room.checked_div(both.saturating_mul(BATCHES)),
            max_payload_bytes: payload,
            max_in_flight_bytes: in_flight,
        }
    }

    /// Returns the settings of a node, as command-line options.
    pub fn settings(&self) -> String {
        let option = |name: &str, value: Option<u64>| {
            value.map(|value| format!("{name} {}MiB", value >> 20))
        };
        let payload = option("--max-payload-bytes", self.max_payload_bytes);
        let in_flight = option("--max-in-flight-bytes", self.max_in_flight_bytes);
        let options: Vec<_> = [payload, in_flight].into_iter().flatten().collect();
        if options.is_empty() { "the defaults".into() } else { options.join(" ") }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{super::table::amount, *};
    use crate::book::{Suite, Table};

    /// Formats the row of docs/ENGINES.md.
    fn row(needs: &Needs) -> String {
        let or_dash =
            |bytes: u64| if bytes == 0 { "–".into() } else { amount(bytes as f64, "B") };
        let batch = needs.batch.map_or("any".into(), |batch| batch.to_string());
        format!(
            "| `{}` | {} | {} | {} | {} | {} | {} | {batch} |",
            needs.name,
            or_dash(needs.sample_bytes),
            or_dash(needs.answer_bytes),
            or_dash(needs.loaded_bytes),
            or_dash(needs.all_bytes),
            or_dash(needs.weight_bytes.unwrap_or_default()),
            match needs.settings() {
                settings if settings.starts_with("--") => format!("`{settings}`"),
                settings => settings,
            },
        )
    }

    #[test]
    fn the_document_has_what_plan_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ENGINES.md");
        let text = fs::read_to_string(path).unwrap();
        let mut rows: Vec<String> = Vec::new();
        let benchmarks = Table::builtin().unwrap().benchmarks.iter();
        for benchmark in benchmarks.filter(|benchmark| benchmark.cannot_run.is_none()) {
            let of_benchmark =
                benchmark.bandwidth.iter().map(|sent| row(&Needs::of(benchmark, sent)));
            for row in of_benchmark.filter(|_| benchmark.suite != Suite::Retired) {
                if !rows.contains(&row) {
                    rows.push(row);
                }
            }
        }
        let rows = rows.join("\n");
        assert!(text.contains(&rows), "docs/ENGINES.md has to have:\n{rows}");
    }

    #[test]
    fn large_samples_need_other_settings_than_the_defaults() {
        let of = |name: &str, sent: usize| {
            let benchmark = Table::builtin().unwrap().find(name).unwrap();
            Needs::of(benchmark, &benchmark.bandwidth[sent])
        };
        let image = of("resnet50", 0);
        assert_eq!(
            (image.batch, image.max_payload_bytes, image.max_in_flight_bytes),
            (Some(445), None, None)
        );
        let volume = of("3d-unet-99", 1);
        assert_eq!(volume.settings(), "--max-payload-bytes 256MiB --max-in-flight-bytes 2048MiB");
        assert_eq!(volume.batch, Some(3));
        assert!(of("rgat", 0).node().contains("any batch"));
        // A custom table may contain any number.
        let benchmark = Table::builtin().unwrap().find("resnet50").unwrap();
        for elements in [1 << 60, 1 << 62, u64::MAX] {
            let mut sent = benchmark.bandwidth[1].clone();
            sent.ingress[0].elements = elements;
            let needs = Needs::of(benchmark, &sent);
            assert_eq!(
                needs.settings(),
                "--max-payload-bytes 256MiB --max-in-flight-bytes 2048MiB"
            );
            assert_eq!(needs.batch, Some(0));
        }
    }
}
