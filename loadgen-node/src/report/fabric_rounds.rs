//! Rounds behind a network's figures: a single round does not show the noise.

use crate::{
    fabric::{figures::Bandwidth, report::Report},
    units::{count, gigabytes},
};

/// Describes the rounds behind all figures.
pub(super) fn rounds(report: &Report) -> String {
    let Report { duration_ms, warm_up_ms, .. } = report;
    let rounds = count(report.rounds, "round");
    match report.rounds {
        1 => format!(
            "{rounds} of {duration_ms} ms, after a warm-up of {warm_up_ms} ms; a single round does not show the noise"
        ),
        _ => format!(
            "{rounds} of {duration_ms} ms, each after a warm-up of {warm_up_ms} ms; the figures are from the median round"
        ),
    }
}

/// Returns the range of a cell's rounds, in GB/s; `None` for a single round.
pub(super) fn range(cell: &Bandwidth) -> Option<String> {
    let (least, most) = cell.range();
    let several = cell.rounds_bytes_per_second.len() > 1;
    several.then(|| format!("{} – {}", gigabytes(least), gigabytes(most)))
}

/// Returns the note that follows a verdict based on a single round.
pub(super) fn basis(measured: usize, planned: usize) -> &'static str {
    match (measured, planned) {
        (2.., _) => "",
        (_, 2..) => ", from the only measured round: repeat it",
        _ => ", from one round: repeat it with --rounds 3",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::figures::{Direction, tests::cell};

    #[test]
    fn one_round_has_no_range() {
        let one = cell(1000, Direction::Both, 1e6);
        assert_eq!(range(&one), None);
        let several = Bandwidth { rounds_bytes_per_second: vec![2e9, 1e9], ..one };
        assert_eq!(range(&several).unwrap(), "1.000 – 2.000");
        let said =
            |number| rounds(&Report { rounds: number, duration_ms: 300, ..Report::default() });
        assert!(said(1).starts_with("1 round of 300 ms, "), "{}", said(1));
        assert!(said(3).starts_with("3 rounds of 300 ms, each "), "{}", said(3));
        assert!(basis(1, 1).ends_with("repeat it with --rounds 3"));
        assert!(basis(1, 3).ends_with("the only measured round: repeat it"));
        assert_eq!(basis(2, 3), "");
    }
}
