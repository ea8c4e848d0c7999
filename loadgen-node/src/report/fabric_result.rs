//! Result of a network measurement in a sentence.

use crate::{
    fabric::{
        figures::{Bandwidth, Direction},
        report::Report,
    },
    units::{gigabits, size},
};

/// Returns the cell of a direction with the most bytes per second.
pub(super) fn best(cells: &[Bandwidth], direction: Direction) -> Option<&Bandwidth> {
    let of_direction = cells.iter().filter(|cell| cell.direction == direction);
    of_direction.max_by(|a, b| a.bytes_per_second().total_cmp(&b.bytes_per_second()))
}

/// Returns the best rate of each direction, and what limited them; `None` without such rates.
pub(super) fn sentence(report: &Report) -> Option<String> {
    let best = |direction| best(&report.bandwidth, direction);
    let best: Vec<_> = Direction::ALL.into_iter().filter_map(best).collect();
    let rate = |cell: &&Bandwidth| {
        let (rate, bytes) = (gigabits(cell.bytes_per_second()), size(cell.message_bytes));
        format!("{rate} Gbit/s {} with {bytes}", cell.direction)
    };
    let rates: Vec<_> = best.iter().map(rate).collect();
    let limit = if best.iter().any(|cell| cell.is_bound_by_processor()) {
        "an I/O thread of this machine; the network may carry more"
    } else if best.iter().any(|cell| !cell.shortages.is_empty()) {
        "a busy machine; the network may carry more"
    } else {
        "the network: both ends had processor time left"
    };
    (!rates.is_empty()).then(|| format!("result: {}, limited by {limit}", rates.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fabric::figures::tests::cell, record::Shortage};

    fn shortage() -> Shortage {
        Shortage {
            program: "this machine".into(),
            test_seconds: 1.0,
            throttled_seconds: 0.5,
            stolen_seconds: 0.0,
            waited_seconds: 0.0,
            ran_seconds: 0.5,
            late_seconds: None,
        }
    }

    #[test]
    fn the_best_rates_are_said_with_their_limit() {
        let cells = || {
            vec![
                cell(64, Direction::ToNodes, 1e6),
                cell(1 << 20, Direction::ToNodes, 1e3),
                cell(1 << 20, Direction::Both, 500.0),
            ]
        };
        let said = |change: fn(&mut Bandwidth)| {
            let mut report = Report { bandwidth: cells(), ..Report::default() };
            change(&mut report.bandwidth[1]);
            sentence(&report).unwrap()
        };
        let start = "result: 16.78 Gbit/s to nodes with 1 MiB, 8.39 Gbit/s both ways with 1 MiB, limited by ";
        type Change = fn(&mut Bandwidth);
        let cases: [(Change, &str); 3] = [
            (|_| (), "the network: "),
            (|cell| cell.busiest_io_thread = Some(0.99), "an I/O thread of this machine; "),
            (|cell| cell.shortages.push(shortage()), "a busy machine; "),
        ];
        for (change, limit) in cases {
            let said = said(change);
            assert!(said.starts_with(&format!("{start}{limit}")), "{said}");
        }
        assert_eq!(sentence(&Report::default()), None);
    }
}
