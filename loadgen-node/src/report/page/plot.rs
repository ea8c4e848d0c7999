//! Pictures of a run, drawn as SVG. The page sets their colours, for a light and for a dark theme.

use std::error::Error;

use hdrhistogram::Histogram;
use plotters::{
    chart::ChartBuilder,
    coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter},
    element::PathElement,
    prelude::{IntoDrawingArea as _, IntoLogRange as _, SVGBackend},
    series::LineSeries,
    style::{Color as _, RGBColor},
};

const PIXELS: (u32, u32) = (920, 340);

/// Share of the shortest times that may lie together at the start of a logarithmic axis. It would
/// otherwise begin at a single short time, and squeeze the others.
const SHORTEST: f64 = 0.01;

/// Minimum start of an axis of times, in nanoseconds. Threads and clocks do not resolve shorter
/// times, such as the time between tokens that arrive together.
const RESOLUTION_NS: u64 = 1000;

/// Maximum number of lines in one picture: more cannot be distinguished.
pub(super) const LINES: usize = 8;

/// Returns the placeholder for the colour of the line with this number. The page's style defines
/// the colours, as --c0 to --c7.
const fn line(number: usize) -> RGBColor {
    RGBColor(1, 1, (number % LINES) as u8)
}

/// Placeholders for the colours of axes, of the grid and of a bound.
const INK: RGBColor = RGBColor(1, 2, 0);
const GRID: RGBColor = RGBColor(1, 2, 1);
const BOUND: RGBColor = RGBColor(1, 2, 2);

pub(super) struct PlotLine {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// Draws the share of samples that took no longer: latencies in milliseconds, on a logarithmic
/// axis, over percentiles that are stretched towards their end. Returns `None` if there is nothing
/// to draw.
pub(super) fn percentiles(
    of: &[(String, &Histogram<u64>)],
    bound: Option<(f64, f64)>,
) -> Option<String> {
    let shortest = of.iter().map(|(_, times)| times.value_at_quantile(SHORTEST)).min();
    let start = shortest.unwrap_or_default().max(RESOLUTION_NS);
    let lines: Vec<_> = of.iter().map(|(name, times)| tail(name, times, start)).collect();
    let most = |pick: fn(&(f64, f64)) -> f64| {
        let points = lines.iter().flat_map(|line| &line.points).chain(bound.as_ref());
        points
            .map(pick)
            .fold((f64::MAX, 0.0), |(least, most): (f64, f64), v| (least.min(v), most.max(v)))
    };
    let ((x0, x1), (_, y1)) = (most(|point| point.0), most(|point| point.1));
    if x1 <= 0.0 {
        return None;
    }
    let x = (x0 / 1.1..x1 * 1.1).log_scale().base(2.0);
    let label = |nines: &f64| percent(*nines);
    draw(&lines, x, 0.0..y1.ceil().max(1.0), "ms", &|ms| plain(*ms), &label, bound).ok()
}

/// Draws values over the seconds of a run.
pub(super) fn over_time(lines: &[PlotLine], unit: &str) -> Option<String> {
    let all = || lines.iter().flat_map(|line| &line.points);
    let (from, to) = all().fold((f64::MAX, 0.0_f64), |(a, b), p| (a.min(p.0), b.max(p.0)));
    let highest = all().fold(0.0_f64, |most, point| most.max(point.1));
    // A line needs two points.
    if from >= to {
        return None;
    }
    // A line of zeros needs an axis, too.
    let top = if highest > 0.0 { highest * 1.05 } else { 1.0 };
    let title = format!("{unit}, over seconds");
    let label = |value: &f64| plain(*value);
    draw(lines, from..to, 0.0..top, &title, &label, &label, None).ok()
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
    PlotLine { name: name.into(), points }
}

fn percent(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10f64.powf(-nines));
    let digits = (nines - 2.0).max(0.0).ceil() as usize;
    format!("{percent:.digits$} %")
}

/// Formats a number with as many digits as it needs.
fn plain(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        v if v >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        _ => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// Returns an SVG element.
fn draw<X>(
    lines: &[PlotLine],
    x: X,
    y: std::ops::Range<f64>,
    title: &str,
    x_label: &dyn Fn(&f64) -> String,
    y_label: &dyn Fn(&f64) -> String,
    bound: Option<(f64, f64)>,
) -> Result<String, Box<dyn Error>>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, PIXELS).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(title)
            .x_label_formatter(x_label)
            .y_label_formatter(y_label)
            .y_labels(8)
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(GRID.mix(0.0))
            .draw()?;
        for (number, PlotLine { points, .. }) in lines.iter().enumerate() {
            let style = line(number).stroke_width(2);
            chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
        }
        if let Some((at, nines)) = bound {
            let corner = [(at, 0.0), (at, nines)];
            chart.draw_series([PathElement::new(corner, BOUND.stroke_width(2))])?;
        }
        area.present()?;
    }
    Ok(themed(&svg))
}

/// Replaces the placeholders by the page's colours.
fn themed(svg: &str) -> String {
    let mut svg = svg.replace("<svg ", "<svg role=\"img\" aria-hidden=\"true\" ");
    let hex = |RGBColor(r, g, b): RGBColor| format!("\"#{r:02X}{g:02X}{b:02X}\"");
    for number in 0..LINES {
        svg = svg.replace(&hex(line(number)), &format!("\"var(--c{number})\""));
    }
    for (colour, name) in [(INK, "ink"), (GRID, "line"), (BOUND, "bad")] {
        svg = svg.replace(&hex(colour), &format!("\"var(--{name})\""));
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_they_need() {
        for (value, text) in [
            (0.0, "0"),
            (0.0125, "0.0125"),
            (1.5, "1.5"),
            (250.0, "250"),
            (12_500.0, "12.5k"),
            (3e6, "3M"),
        ] {
            assert_eq!(plain(value), text);
        }
        for (nines, text) in
            [(0.0, "0 %"), (1.0, "90 %"), (2.0, "99 %"), (3.0, "99.9 %"), (4.0, "99.99 %")]
        {
            assert_eq!(percent(nines), text);
        }
    }

    #[test]
    fn a_picture_has_no_colour_of_its_own() {
        let mut times = Histogram::new(3).unwrap();
        (1..2000).for_each(|ms| times.record(ms * 10_000).unwrap());
        let svg = percentiles(&[("a".into(), &times)], Some((15.0, 2.0))).unwrap();
        assert!(svg.contains("var(--c0)") && svg.contains("var(--bad)"), "{svg}");
        assert!(!svg.contains("#0101"), "{svg}");
        assert!(svg.contains("99 %") && svg.len() < 60_000, "{}", svg.len());
        assert_eq!(percentiles(&[("a".into(), &Histogram::new(3).unwrap())], None), None);
        let mut none_at_all = Histogram::new(3).unwrap();
        none_at_all.record(0).unwrap();
        assert!(percentiles(&[("a".into(), &none_at_all)], None).is_some());
        none_at_all.record(u64::MAX >> 1).unwrap();
        assert!(percentiles(&[("a".into(), &none_at_all)], None).is_some());
        times.record(0).unwrap();
        let svg = percentiles(&[("a".into(), &times)], None).unwrap();
        assert!(
            !svg.lines().any(|label| label.starts_with("0.0")),
            "one 0 stretches the axis: {svg}"
        );
        let one = PlotLine { name: "a".into(), points: vec![(1.0, 1.0)] };
        assert_eq!(over_time(&[one], "samples/s"), None);
        let zeros = PlotLine { name: "a".into(), points: vec![(0.0, 0.0), (1.0, 0.0)] };
        assert!(over_time(&[zeros], "samples").is_some());
    }
}
