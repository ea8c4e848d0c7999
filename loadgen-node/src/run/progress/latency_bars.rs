//! Latencies in the live view: percentiles against their bounds, and histograms.

use hdrhistogram::Histogram;
use netdiv_qdl::NodeReport;
use ratatui::{
    layout::Rect,
    style::{Color, Stylize as _},
    text::{Line, Span},
    widgets::Paragraph,
};

use crate::{
    run::setup::latency_bounds::{LatencyBound, LatencyBounds},
    units::count,
};

/// Share of the percentile that is shown without a bound.
const USUAL_SHARE: f64 = 0.99;

/// Numbers of bars in which a histogram may divide each factor of ten.
const DIVISIONS: [u32; 5] = [24, 12, 6, 3, 1];

/// Minimum latency that bars show, and the number of factors of ten above it: up to 28 hours.
const SHORTEST_NS: u64 = 10;
const DECADES: u32 = 14;

/// Latencies of one kind, in nanoseconds.
pub(super) struct Latencies<'a> {
    name: &'static str,
    times: &'a Histogram<u64>,
    bound: Option<LatencyBound>,
}

/// Returns the latencies that decide a test: the times of tokens, if responses consist of tokens.
pub(super) fn deciding(all: &NodeReport, bounds: LatencyBounds) -> Vec<Latencies<'_>> {
    let LatencyBounds { latency, first_token, further_token } = bounds;
    match all.tokens.as_deref() {
        Some(tokens) => vec![
            Latencies { name: "TTFT", times: &tokens.first, bound: first_token },
            Latencies { name: "TPOT", times: &tokens.further, bound: further_token },
        ],
        None => vec![Latencies { name: "latency", times: &all.latency, bound: latency }],
    }
}

struct Bar {
    from_ns: u64,
    to_ns: u64,
    count: u64,
}

impl Latencies<'_> {
    /// Returns the percentile of the run so far, and its bound.
    pub(super) fn percentile(&self) -> Line<'static> {
        let share = self.bound.map_or(USUAL_SHARE, |bound| bound.share);
        let name = format!("p{} {} ", (share * 1e4).round() / 100.0, self.name);
        if self.times.is_empty() {
            return Line::from(name + "–");
        }
        let ns = self.times.value_at_quantile(share);
        let (shown, verdict, colour) = match self.bound {
            None => (format!("{} ms", ms(ns)), String::new(), Color::Reset),
            Some(bound) => {
                let (of, percent) = (ms(bound.ns), 100.0 * ns as f64 / bound.ns as f64);
                let (verdict, colour) = match ns > bound.ns {
                    true => (format!(", OVER its bound of {of} ms ({percent:.0} %)"), Color::Red),
                    false => (format!(", {percent:.0} % of its bound of {of} ms"), Color::Green),
                };
                (format!("{} ms", ms(ns)), verdict, colour)
            }
        };
        Line::from(vec![Span::raw(name), shown.bold().fg(colour), verdict.fg(colour)])
    }

    /// Draws a bar for each range of latencies, as fine as the area allows. Bars over the bound have
    /// another pattern.
    pub(super) fn histogram(&self, area: Rect) -> Paragraph<'static> {
        let bars = self.bars(usize::from(area.height.saturating_sub(1)));
        let is_over = |bar: &Bar| self.bound.is_some_and(|bound| bar.from_ns >= bound.ns);
        let over: u64 = bars.iter().filter(|bar| is_over(bar)).map(|bar| bar.count).sum();
        let samples = count(self.times.len() as usize, "sample");
        let mut title = format!("{} in ms, {samples}", self.name);
        if over > 0 {
            title += &format!(", {over} over the bound (▒)");
        }
        let labels = || bars.iter().map(|bar| format!("{}–{}", ms(bar.from_ns), ms(bar.to_ns)));
        let most = bars.iter().map(|bar| bar.count).max().unwrap_or_default().max(1);
        let label_width = labels().map(|label| label.chars().count()).max().unwrap_or_default();
        let count_width = most.to_string().len();
        let room = usize::from(area.width).saturating_sub(label_width + count_width + 2);
        let row = |(bar, label): (&Bar, String)| {
            let length = (room as f64 * bar.count as f64 / most as f64).round() as usize;
            let length = length.max(usize::from(bar.count > 0));
            let drawn: Span<'_> = match is_over(bar) {
                true => "▒".repeat(length).red(),
                false => "█".repeat(length).green(),
            };
            let text = format!("{label:>label_width$} {:>count_width$} ", bar.count);
            Line::from(vec![Span::raw(text), drawn])
        };
        let rows = bars.iter().zip(labels()).map(row);
        Paragraph::new([Line::from(title.bold())].into_iter().chain(rows).collect::<Vec<_>>())
    }

    /// Counts the latencies in at most `most` ranges, or in two if fewer cannot show the bound.
    fn bars(&self, most: usize) -> Vec<Bar> {
        if self.times.is_empty() {
            return Vec::new();
        }
        let [minimum, maximum] = [self.times.min(), self.times.max()].map(|ns| ns.max(SHORTEST_NS));
        let bound = self.bound.map(|bound| bound.ns);
        let bound = bound.filter(|ns| (minimum..maximum).contains(ns));
        let mut edges = edges(minimum, maximum, most.saturating_sub(bound.iter().count()));
        edges.extend(bound);
        edges.sort_unstable();
        edges.dedup();
        let pairs = edges.windows(2);
        let mut bars: Vec<_> =
            pairs.map(|edge| Bar { from_ns: edge[0], to_ns: edge[1], count: 0 }).collect();
        for step in self.times.iter_recorded() {
            let place = bars.partition_point(|bar| bar.to_ns <= step.value_iterated_to());
            let last = bars.len() - 1;
            bars[place.min(last)].count += step.count_since_last_iteration();
        }
        bars
    }
}

/// Returns the edges of at most `most` ranges, or of one, that cover these latencies evenly on a
/// logarithmic scale. Edges have two significant digits.
fn edges(minimum: u64, maximum: u64, most: usize) -> Vec<u64> {
    let edge = |step: u32, divisions: u32| {
        let within = 10f64.powf(f64::from(step % divisions) / f64::from(divisions));
        (within * SHORTEST_NS as f64).round() as u64 * 10u64.pow(step / divisions)
    };
    let covering = |divisions: u32| {
        let all: Vec<_> = (0..DECADES * divisions).map(|step| edge(step, divisions)).collect();
        let from =
            all.partition_point(|edge| *edge <= minimum).saturating_sub(1).min(all.len() - 2);
        let to = all.partition_point(|edge| *edge <= maximum).min(all.len() - 1);
        all[from..=to].to_vec()
    };
    let fitting = DIVISIONS.into_iter().map(covering).find(|edges| edges.len() <= most + 1);
    fitting.unwrap_or_else(|| {
        let all = covering(1);
        vec![all[0], all[all.len() - 1]]
    })
}

/// Formats nanoseconds as milliseconds, with up to three significant digits.
fn ms(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    let decimals = (2.0 - ms.log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{ms:.decimals$}");
    match decimals {
        0 => text,
        _ => text.trim_end_matches('0').trim_end_matches('.').into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values_ms: &[f64]) -> Histogram<u64> {
        let mut times = Histogram::new(3).unwrap();
        values_ms.iter().for_each(|ms| times.record((ms * 1e6) as u64).unwrap());
        times
    }

    fn text(line: &Line<'_>) -> String {
        line.spans.iter().map(|span| &*span.content).collect()
    }

    #[test]
    fn a_percentile_is_compared_with_its_bound_in_words() {
        let times = times(&[1.0, 2.0, 12.0]);
        for (bound_ns, share, want) in [
            (None, 0.0, "p99 latency 12 ms"),
            (Some(15_000_000), 0.99, "p99 latency 12 ms, 80 % of its bound of 15 ms"),
            (Some(10_000_000), 0.999, "p99.9 latency 12 ms, OVER its bound of 10 ms (120 %)"),
            (Some(2_000_000_000), 0.97, "p97 latency 12 ms, 1 % of its bound of 2000 ms"),
        ] {
            let bound = bound_ns.map(|ns| LatencyBound { ns, share });
            let shown = Latencies { name: "latency", times: &times, bound }.percentile();
            assert_eq!(text(&shown), want);
        }
        let none = Histogram::new(3).unwrap();
        let shown = Latencies { name: "TTFT", times: &none, bound: None }.percentile();
        assert_eq!(text(&shown), "p99 TTFT –");
    }

    #[test]
    fn bars_are_as_fine_as_there_are_rows_and_lose_no_latency() {
        let many: Vec<_> = (1..=1000).map(|number| f64::from(number) / 20.0).collect();
        for values in [&[0.25][..], &[0.00001, 3_000_000.0], &many[..], &[0.0]] {
            let times = times(values);
            for bound in [None, Some(LatencyBound { ns: 15_000_000, share: 0.99 })] {
                let latencies = Latencies { name: "latency", times: &times, bound };
                for rows in 0..40 {
                    let bars = latencies.bars(rows);
                    let counted: u64 = bars.iter().map(|bar| bar.count).sum();
                    assert_eq!(counted, values.len() as u64, "{rows} {values:?}");
                    assert!(bars.len() <= rows.max(2), "{rows} {values:?}");
                    let over = bars.iter().filter(|bar| bar.from_ns >= 15_000_000);
                    let over: u64 = over.map(|bar| bar.count).sum();
                    if bound.is_some() && values.len() == 1000 {
                        assert!((698..=702).contains(&over), "{over}");
                    }
                }
            }
        }
        let ranges =
            |most| edges(1_000_000, 40_000_000, most).into_iter().map(ms).collect::<Vec<_>>();
        assert_eq!(ranges(6), ["1", "2.2", "4.6", "10", "22", "46"]);
        assert_eq!(ranges(3), ["1", "10", "100"]);
        assert_eq!(ranges(1), ["1", "100"]);
    }

    #[test]
    fn milliseconds_have_three_digits_at_most() {
        for (ns, want) in [
            (0, "0"),
            (10, "0.00001"),
            (55_000, "0.055"),
            (1_250_000, "1.25"),
            (15_000_000, "15"),
            (310_400_000, "310"),
            (2_000_000_000, "2000"),
        ] {
            assert_eq!(ms(ns), want);
        }
    }
}
