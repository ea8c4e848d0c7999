//! Bandwidth as a picture: GB/s over the message size, both axes logarithmic.

use std::{error::Error, ops::Range};

use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    element::{Circle, PathElement},
    prelude::{BindKeyPoints as _, IntoDrawingArea as _, IntoLogRange as _, SVGBackend},
    series::LineSeries,
    style::{Color as _, RGBColor, WHITE},
};

use crate::{
    fabric::{figures::Direction, report::Report},
    units::size,
};

const PIXELS: (u32, u32) = (800, 480);

/// Colours that can be distinguished with a colour vision deficiency (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 3] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115)];

pub(crate) fn svg(report: &Report) -> Result<String, Box<dyn Error>> {
    let points = |direction: Direction| -> Vec<(f64, f64)> {
        let cells = report.bandwidth.iter().filter(|cell| cell.direction == direction);
        cells
            .map(|cell| {
                let to = cell.total.bytes_per_second_to_nodes;
                let from = cell.total.bytes_per_second_from_nodes;
                let bytes = match direction {
                    Direction::ToNodes => to,
                    Direction::FromNodes => from,
                    // Both directions reach the slower rate.
                    Direction::Both => to.min(from),
                };
                (cell.message_bytes as f64, (bytes / 1e9).max(1e-6))
            })
            .collect()
    };
    let all: Vec<_> = Direction::ALL.into_iter().flat_map(points).collect();
    let bounds = |pick: fn(&(f64, f64)) -> f64| {
        let values = all.iter().map(pick);
        values.fold((f64::MAX, f64::MIN), |(least, most), v| (least.min(v), most.max(v)))
    };
    let ((x0, x1), (y0, y1)) = (bounds(|point| point.0), bounds(|point| point.1));
    // Wide enough for a tick, whose neighbours are at most 2.5 times apart.
    let y = y0 / 1.6..y1 * 1.6;
    let ticks = ticks(&y);
    let mut document = String::new();
    {
        let area = SVGBackend::with_string(&mut document, PIXELS).into_drawing_area();
        area.fill(&WHITE)?;
        let title = format!("Payload bandwidth over {}", report.transport);
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 20))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(
                (x0 / 1.5..x1 * 1.5).log_scale().base(4.0),
                y.log_scale().with_key_points(ticks),
            )?;
        chart
            .configure_mesh()
            .x_desc("message size")
            .y_desc("GB/s")
            .x_label_formatter(&|bytes| size(bytes.round() as usize))
            .y_label_formatter(&|rate| format!("{rate}"))
            .draw()?;
        for (direction, colour) in Direction::ALL.into_iter().zip(COLOURS) {
            let points = points(direction);
            let label = match direction {
                Direction::Both => "both ways, the slower one",
                one_way => one_way.into(),
            };
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
                .label(label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour));
            chart.draw_series(points.into_iter().map(|at| Circle::new(at, 3, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .border_style(RGBColor(200, 200, 200))
            .background_style(WHITE)
            .draw()?;
        area.present()?;
    }
    Ok(document)
}

/// Returns the ticks of a logarithmic axis: 1, 2 and 5 in each decade. Each is the number that is
/// nearest to its decimal digits, so it is formatted with these.
fn ticks(range: &Range<f64>) -> Vec<f64> {
    let decades = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    let ticks = decades.flat_map(|decade| {
        [1.0, 2.0, 5.0].map(|digit| match decade {
            ..0 => digit / 10f64.powi(-decade),
            _ => digit * 10f64.powi(decade),
        })
    });
    ticks.filter(|tick| range.contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::figures::tests::cell;

    #[test]
    fn each_decade_has_short_labels() {
        for (slowest, fastest, expected) in [
            (30e6, 400e6, &["0.02", "0.05", "0.1", "0.2", "0.5"][..]),
            (4e9, 4e9, &["5"]),
            (2e6, 2e6, &["0.002"]),
            (
                15e3,
                2e6,
                &["0.00001", "0.00002", "0.00005", "0.0001", "0.0002", "0.0005", "0.001", "0.002"],
            ),
            (6e9, 20e9, &["5", "10", "20"]),
        ] {
            let cells = [(1000, slowest), (1_000_000, fastest)]
                .map(|(bytes, rate)| cell(bytes, Direction::ToNodes, rate / bytes as f64));
            let svg = svg(&Report { bandwidth: cells.into(), ..Report::default() }).unwrap();
            let lines = svg.lines().map(str::trim);
            let labels: Vec<_> = lines.filter(|line| line.parse::<f64>().is_ok()).collect();
            assert!(labels.iter().all(|label| expected.contains(label)), "{labels:?}");
            assert_eq!(labels.len(), expected.len(), "{labels:?}");
        }
    }
}
