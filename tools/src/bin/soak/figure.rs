//! Chart of resident memory over the time of the soak.

use std::error::Error;

use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    element::{Circle, PathElement},
    prelude::{IntoDrawingArea as _, SVGBackend},
    series::LineSeries,
    style::{Color as _, RGBColor, WHITE},
};

use crate::memory::Series;

const PIXELS: (u32, u32) = (800, 480);

/// Colours that are distinguishable with colour blindness (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

/// Returns an SVG document: a line for each node, a dot for each run.
pub fn svg(nodes: &[Series], runs: &[Series]) -> Result<String, Box<dyn Error>> {
    let all = || nodes.iter().chain(runs).flat_map(|series| &series.points);
    let end = all().map(|(at, _)| at / 60.0).fold(0.1, f64::max);
    // Room for the legend at the top.
    let most = all().map(|(_, mib)| *mib).fold(1.0, f64::max) * 1.6;
    let mut document = String::new();
    {
        let area = SVGBackend::with_string(&mut document, PIXELS).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption("Resident memory: nodes (lines), peak of each run (dots)", ("sans-serif", 20))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..end, 0.0..most)?;
        chart.configure_mesh().x_desc("minutes").y_desc("MiB").draw()?;
        let mut colours = COLOURS.into_iter().cycle();
        let mut labels: Vec<(&str, RGBColor)> = Vec::new();
        for (series, is_line) in
            nodes.iter().map(|s| (s, true)).chain(runs.iter().map(|s| (s, false)))
        {
            // A restarted node keeps its colour.
            let known = labels.iter().find(|(label, _)| *label == series.label).copied();
            let colour = known.map_or_else(|| colours.next().unwrap_or(COLOURS[0]), |(_, c)| c);
            let points = series.points.iter().map(|(at, mib)| (at / 60.0, *mib));
            let drawn = if is_line {
                chart.draw_series(LineSeries::new(points, colour.stroke_width(1)))?
            } else {
                chart.draw_series(points.map(|at| Circle::new(at, 2, colour.filled())))?
            };
            if known.is_none() {
                labels.push((&series.label, colour));
                drawn
                    .label(&series.label)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour));
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .border_style(RGBColor(200, 200, 200))
            .background_style(WHITE)
            .draw()?;
        area.present()?;
    }
    Ok(document)
}
