//! Bandwidth as a picture: GB/s over the message size, both axes logarithmic.

use std::error::Error;

use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    element::{Circle, PathElement},
    prelude::{IntoDrawingArea as _, IntoLogRange as _, SVGBackend},
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

/// Returns the picture as an SVG document.
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
                (y0 / 1.5..y1 * 1.5).log_scale(),
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
