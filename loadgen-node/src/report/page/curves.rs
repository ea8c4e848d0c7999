//! Curves of runs: percentiles of durations, and values over the seconds of a run.

use hdrhistogram::Histogram;

use super::{
    axis::{Axis, Scale, percentile, plain},
    elements::figures,
    plot::{Along, Bound, Plot, PlotLine, Strip},
};

/// Share of the shortest times that may lie together at the start of a logarithmic axis. It would
/// otherwise begin at a single short time, and squeeze the others.
const SHORTEST: f64 = 0.01;

/// Minimum start of an axis of times, in nanoseconds. Threads and clocks do not resolve shorter
/// times, such as the time between tokens that arrive together.
const RESOLUTION_NS: u64 = 1000;

/// Percentiles that are shown on hover, as shares.
const HOVERED: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];

/// Maximum number of strips that show the values of a plot over time.
const STRIPS: usize = 60;

/// Name of the line of all nodes together.
pub(super) const ALL_NODES: &str = "all nodes";

/// Returns the share of samples that took no longer: latencies in milliseconds, on a logarithmic
/// axis, over percentiles that are stretched towards their end. A bound is in milliseconds, with the
/// share of the samples that have to meet it.
pub(super) fn percentiles<'a>(
    title: &'a str,
    of: &[(String, &Histogram<u64>)],
    bound: Option<(f64, f64)>,
) -> Plot<'a> {
    let shortest = of.iter().map(|(_, times)| times.value_at_quantile(SHORTEST)).min();
    let start = shortest.unwrap_or_default().max(RESOLUTION_NS);
    let most = of.iter().map(|(_, times)| times.len()).max().unwrap_or_default();
    // Beyond the slowest sample there is nothing to show.
    let shares: Vec<_> =
        HOVERED.into_iter().filter(|share| (1.0 - share) * most as f64 >= 0.5).collect();
    let places: Vec<_> = shares.iter().map(|share| nines(*share)).collect();
    let strips = shares.iter().enumerate().map(|(number, share)| {
        let place = places[number];
        let half =
            |other: Option<&f64>, end: f64| other.map_or(end, |at| f64::midpoint(place, *at));
        let time = |times: &Histogram<u64>| times.value_at_quantile(*share) as f64 / 1e6;
        let values = of.iter().map(|(name, times)| (&name[..], time(times)));
        Strip {
            along: Along::Y,
            from: half(number.checked_sub(1).and_then(|before| places.get(before)), 0.0),
            to: half(places.get(number + 1), f64::MAX),
            text: values_text(&percentile(place), values, "ms"),
        }
    });
    Plot {
        title,
        x: Axis::new("ms", Scale::Log),
        y: Axis { title: "percentile of samples", scale: Scale::Nines, label: percentile },
        lines: of.iter().map(|(name, times)| tail(name, times, start)).collect(),
        bound: bound.map(|(ms, share)| Bound {
            along: Along::X,
            at: ms,
            until: Some(nines(share)),
            label: format!("bound for {}: {} ms", percentile(nines(share)), plain(ms)),
        }),
        strips: strips.collect(),
    }
}

/// Returns values over the seconds of a run. A bound is in the unit of the values.
pub(super) fn over_time<'a>(
    title: &'a str,
    unit: &'a str,
    lines: Vec<PlotLine>,
    bound: Option<f64>,
) -> Plot<'a> {
    let longest = lines.iter().map(|line| line.points.len()).max().unwrap_or_default();
    let times: Vec<_> = {
        let all = lines.iter().find(|line| line.points.len() == longest);
        all.into_iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect()
    };
    let strips = times.chunks(longest.div_ceil(STRIPS).max(1)).map(|group| {
        let (from, to) = (group[0], group[group.len() - 1]);
        let middle = f64::midpoint(from, to);
        let nearest = |line: &PlotLine| {
            let distance = |point: &&(f64, f64)| (point.0 - middle).abs();
            line.points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|p| p.1)
        };
        let values = lines.iter().filter_map(|line| Some((&line.name[..], nearest(line)?)));
        let half = times.last().map_or(0.5, |last| last / (2 * longest) as f64);
        Strip {
            along: Along::X,
            from: from - half,
            to: to + half,
            text: values_text(&format!("{} s", plain(middle)), values, unit),
        }
    });
    Plot {
        title,
        x: Axis::new("seconds of the test", Scale::Linear),
        y: Axis::new(unit, Scale::Linear),
        strips: strips.collect(),
        // A line needs two points.
        lines: if longest < 2 { Vec::new() } else { lines },
        bound: bound.map(|at| Bound {
            along: Along::Y,
            at,
            until: None,
            label: format!("bound: {} {unit}", plain(at)),
        }),
    }
}

/// Returns a heading and a line for each value.
fn values_text<'a>(
    heading: &str,
    values: impl Iterator<Item = (&'a str, f64)>,
    unit: &str,
) -> String {
    let mut lines = vec![heading.to_owned()];
    lines.extend(values.map(|(name, value)| format!("{name}: {} {unit}", figures(value))));
    lines.join("\n")
}

fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// Returns the line of a histogram. Each point has a latency in milliseconds, and the share of
/// samples that took no longer, in nines: 0.99 is at 2. Times below `start`, in nanoseconds, are
/// drawn there: a logarithmic axis has no 0.
fn tail(name: &str, times: &Histogram<u64>, start: u64) -> PlotLine {
    let all = times.len() as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut until = 0.0;
    for step in times.iter_recorded() {
        until += step.count_since_last_iteration() as f64;
        let above = (all - until) / all;
        // Half of the slowest sample counts as above it: 0 has no logarithm.
        let nines = -above.max(0.5 / all).log10();
        let point = (step.value_iterated_to().max(start) as f64 / 1e6, nines);
        // Points that are closer than half a pixel cannot be seen.
        let seen = points
            .last()
            .is_none_or(|last| nines - last.1 > 0.01 || point.0 / last.0 > 1.01 || above <= 0.0);
        if seen {
            points.push(point);
        }
    }
    PlotLine { name: name.into(), is_total: name == ALL_NODES, points, ..PlotLine::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(plot: &Plot<'_>) -> Option<String> {
        plot.svg().map(maud::Markup::into_string)
    }

    #[test]
    fn a_picture_has_no_colour_of_its_own() {
        let mut times = Histogram::new(3).unwrap();
        (1..2000).for_each(|ms| times.record(ms * 10_000).unwrap());
        fn of(times: &Histogram<u64>, bound: Option<(f64, f64)>) -> Option<String> {
            svg(&percentiles("times", &[("a".into(), times)], bound))
        }
        let picture = of(&times, Some((15.0, 0.99))).unwrap();
        assert!(picture.contains("var(--c0)") && picture.contains("bound for p99: 15 ms"));
        assert!(!picture.contains('#') && picture.len() < 60_000, "{}", picture.len());
        assert!(picture.contains("p50\na: 10.0 ms"), "{picture}");
        assert_eq!(of(&Histogram::new(3).unwrap(), None), None);
        let mut none_at_all = Histogram::new(3).unwrap();
        none_at_all.record(0).unwrap();
        assert!(of(&none_at_all, None).is_some());
        none_at_all.record(u64::MAX >> 1).unwrap();
        assert!(of(&none_at_all, None).is_some());
        times.record(0).unwrap();
        let picture = of(&times, None).unwrap();
        assert!(!picture.contains(">0.0"), "one 0 stretches the axis: {picture}");
        let line = |points| PlotLine { name: "a".into(), points, ..PlotLine::default() };
        assert_eq!(svg(&over_time("rate", "samples/s", vec![line(vec![(1.0, 1.0)])], None)), None);
        let zeros = line(vec![(0.0, 0.0), (1.0, 0.0)]);
        assert!(svg(&over_time("rate", "samples", vec![zeros], None)).is_some());
    }
}
