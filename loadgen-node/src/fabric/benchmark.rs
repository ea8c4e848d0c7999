//! Rates that the measured bandwidth allows for the benchmarks of MLPerf Inference.

use netdiv_rules::book;

use super::figures::{Bandwidth, Benchmark, Direction, Rate};

/// Returns the rate that the measured bandwidth allows for each benchmark, and whether it reaches
/// the target. `targets` are the requested rates, in samples per second, with the names of their
/// benchmarks.
pub(crate) fn benchmarks(
    needs: &[book::Bandwidth],
    measured: &[Bandwidth],
    targets: &[(String, f64)],
) -> Vec<Benchmark> {
    let rate = |bytes: u64, direction: Direction, pick: fn(&Rate) -> f64| {
        let in_direction = || measured.iter().filter(|cell| cell.direction == direction);
        let smaller = in_direction().rfind(|cell| cell.message_bytes as u64 <= bytes);
        let Some(cell) = smaller.or_else(|| in_direction().next()) else { return 0.0 };
        // Short messages are limited by their number, long messages by their bytes.
        let by_bytes = match bytes {
            0 => f64::INFINITY,
            bytes => pick(&cell.total) / bytes as f64,
        };
        by_bytes.min(cell.total.messages_per_second)
    };
    let benchmark = |need: &book::Bandwidth| {
        let (ingress, egress) = (need.ingress_bytes(), need.egress_bytes());
        let carries = if ingress > 0 && egress > 0 {
            let to = rate(ingress, Direction::Both, |rate| rate.bytes_per_second_to_nodes);
            to.min(rate(egress, Direction::Both, |rate| rate.bytes_per_second_from_nodes))
        } else {
            rate(ingress, Direction::ToNodes, |rate| rate.bytes_per_second_to_nodes)
        };
        let target = targets.iter().find(|(name, _)| *name == need.name).map(|(_, rate)| *rate);
        Benchmark {
            name: need.name.clone(),
            formula: need.formula.clone(),
            ingress_bytes_per_sample: ingress,
            egress_bytes_per_sample: egress,
            carries_samples_per_second: carries,
            target_samples_per_second: target,
            target_ingress_bytes_per_second: target.map(|rate| rate * ingress as f64),
            target_egress_bytes_per_second: target.map(|rate| rate * egress as f64),
            carried: target.map(|rate| rate <= carries),
        }
    };
    needs.iter().map(benchmark).collect()
}

#[cfg(test)]
mod tests {
    use netdiv_rules::book::Table;

    use super::{super::figures::tests::cell, *};

    #[test]
    fn a_benchmark_gets_the_bandwidth_of_the_next_smaller_size() {
        let measured = [
            cell(64, Direction::ToNodes, 1e6),
            cell(64, Direction::Both, 1e6),
            cell(100_000, Direction::ToNodes, 2e4),
            cell(1_000_000, Direction::ToNodes, 1e4),
            cell(1_000_000, Direction::Both, 1e3),
        ];
        let targets = [("resnet50".into(), 13_000.0), ("3d-unet".into(), 31.0)];
        let rates = benchmarks(&Table::builtin().unwrap().needs(), &measured, &targets);
        let of = |name: &str| {
            rates
                .iter()
                .find(|b| b.name == name)
                .map(|b| (b.carries_samples_per_second as u64, b.carried))
        };
        // 2 GB/s at 100,000 bytes; 1 GB/s each way at a million; as many as there are messages.
        assert_eq!(of("resnet50"), Some((13_286, Some(true))));
        assert_eq!(of("3d-unet"), Some((30, Some(false))));
        assert_eq!(of("rgat"), Some((1_000_000, None)));
    }
}
