//! Steady rate of a run: its rate without the ramp-up at its start and the drain at its end.

use super::series::SeriesRow;
use crate::record::Steady;

/// Share of the samples that is left out at each end of a run.
const SHARE: f64 = 0.1;

/// Minimum length of the rest of the run, in intervals of the series. Completions are assumed to be
/// spread evenly within an interval.
const INTERVALS: f64 = 10.0;

/// Returns the rate between the moments at which 10 % and 90 % of the samples were completed.
/// `None` if the run is too short for its intervals.
pub(crate) fn steady(rows: &[SeriesRow]) -> Option<Steady> {
    let all: Vec<_> = rows.iter().filter(|row| row.node.is_empty()).collect();
    let total: u64 = all.iter().map(|row| row.completed).sum();
    let begin = moment_of_completion(&all, SHARE * total as f64)?;
    let end = moment_of_completion(&all, (1.0 - SHARE) * total as f64)?;
    let longest = all.iter().map(|row| row.seconds()).fold(0.0, f64::max);
    let seconds = end.seconds - begin.seconds;
    (seconds >= INTERVALS * longest).then(|| Steady {
        seconds,
        samples_per_second: (1.0 - 2.0 * SHARE) * total as f64 / seconds,
        tokens_per_second: begin.tokens.zip(end.tokens).map(|(from, to)| (to - from) / seconds),
    })
}

struct Moment {
    seconds: f64,
    /// Tokens of the samples completed so far.
    tokens: Option<f64>,
}

/// Returns the moment at which `samples` samples were completed.
fn moment_of_completion(rows: &[&SeriesRow], samples: f64) -> Option<Moment> {
    let (mut before, mut tokens) = (0.0, Some(0.0));
    for row in rows {
        let completed = row.completed as f64;
        let of_row = row.tokens.map(|tokens| tokens as f64);
        if completed > 0.0 && before + completed >= samples {
            let share = (samples - before) / completed;
            let tokens = tokens.zip(of_row).map(|(before, of_row)| before + share * of_row);
            return Some(Moment { seconds: row.start_seconds + share * row.seconds(), tokens });
        }
        before += completed;
        tokens = tokens.zip(of_row).map(|(before, of_row)| before + of_row);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(completed: &[u64]) -> Vec<SeriesRow> {
        let row = |(second, completed): (usize, &u64)| SeriesRow {
            start_seconds: second as f64,
            end_seconds: second as f64 + 1.0,
            completed: *completed,
            tokens: Some(completed * 7),
            ..SeriesRow::default()
        };
        completed.iter().enumerate().map(row).collect()
    }

    #[test]
    fn ramp_and_drain_are_left_out() {
        // Nothing, a ramp, twenty seconds at 100 samples/s, and a drain of thirty seconds.
        let mut completed = vec![0, 0, 10, 50];
        completed.extend([100; 20]);
        completed.extend([1; 30]);
        let Steady { seconds, samples_per_second, tokens_per_second } =
            steady(&rows(&completed)).unwrap();
        let expected = 0.8 * (60.0 + 2000.0 + 30.0) / 100.0;
        assert!((seconds - expected).abs() < 1e-9, "{seconds}");
        assert!((samples_per_second - 100.0).abs() < 1e-9, "{samples_per_second}");
        assert!((tokens_per_second.unwrap() - 700.0).abs() < 1e-6);
        // Rows of a node are not counted twice.
        let mut with_nodes = rows(&completed);
        with_nodes
            .extend(rows(&completed).into_iter().map(|row| SeriesRow { node: "a".into(), ..row }));
        assert_eq!(steady(&with_nodes), steady(&rows(&completed)));
    }

    #[test]
    fn short_runs_have_none() {
        assert_eq!(steady(&[]), None);
        assert_eq!(steady(&rows(&[0, 0, 0])), None);
        assert_eq!(steady(&rows(&[100; 12])), None);
        assert!(steady(&rows(&[100; 13])).is_some());
        // A single burst shows no rate.
        let mut burst = vec![0; 30];
        burst[15] = 1_000_000;
        assert_eq!(steady(&rows(&burst)), None);
    }
}
