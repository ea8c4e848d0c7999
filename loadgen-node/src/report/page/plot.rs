//! Plots as SVG: lines over two axes, a bound, and values on hover. They have no script, and their
//! colours are those of the page.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{
    axis::{Axis, Fitted},
    phrases::list,
};

/// Size of a plot in its own units: about the width of a telephone, so that labels are legible there.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 250.0;

/// Width of a digit of a label.
const DIGIT: f64 = 7.4;

/// Maximum number of lines in one picture: more cannot be distinguished.
pub(crate) const LINES: usize = 8;

/// Returns the colour of the line, or of the part of a bar, with this number.
pub(in crate::report) fn colour(number: usize) -> String {
    format!("var(--c{})", number % LINES)
}

/// Lines over two axes.
#[derive(Debug)]
pub(in crate::report) struct Plot<'a> {
    pub(in crate::report) title: &'a str,
    pub(in crate::report) x: Axis<'a>,
    pub(in crate::report) y: Axis<'a>,
    /// Lines, in the order of the legend.
    pub(in crate::report) lines: Vec<PlotLine>,
    pub(in crate::report) bound: Option<Bound>,
    pub(in crate::report) strips: Vec<Strip>,
}

#[derive(Debug, Default)]
pub(in crate::report) struct PlotLine {
    pub(in crate::report) name: String,
    /// True for the sum of the other lines, which has the colour of the text.
    pub(in crate::report) is_total: bool,
    pub(in crate::report) points: Vec<(f64, f64)>,
    /// Marks of the points, in their order; empty for a line without marks.
    pub(in crate::report) marks: Vec<Mark>,
}

/// Mark of a point: a circle or a square with a text on hover, perhaps a link.
#[derive(Debug, Default)]
pub(in crate::report) struct Mark {
    pub(in crate::report) text: String,
    pub(in crate::report) is_hollow: bool,
    pub(in crate::report) is_square: bool,
    pub(in crate::report) link: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Along {
    X,
    Y,
}

/// Bound of the values on one axis.
#[derive(Debug)]
pub(in crate::report) struct Bound {
    pub(in crate::report) along: Along,
    pub(in crate::report) at: f64,
    /// Value on the other axis at which the line of the bound ends; the whole axis by default.
    pub(in crate::report) until: Option<f64>,
    /// Label with the value and its unit.
    pub(in crate::report) label: String,
}

/// Strip of the plot, from one value to another, that shows a text on hover.
#[derive(Debug)]
pub(in crate::report) struct Strip {
    pub(in crate::report) along: Along,
    pub(in crate::report) from: f64,
    pub(in crate::report) to: f64,
    pub(in crate::report) text: String,
}

impl Plot<'_> {
    /// Returns names and colours of the lines.
    pub(in crate::report) fn legend(&self) -> Vec<(&str, String)> {
        let key = |(number, line): (usize, &PlotLine)| match line.is_total {
            true => "var(--ink)".into(),
            false => colour(number),
        };
        self.lines.iter().enumerate().map(|all| (&all.1.name[..], key(all))).collect()
    }

    /// Returns the SVG element, or `None` if there is nothing to draw.
    pub(in crate::report) fn svg(&self) -> Option<Markup> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let bound = |along| self.bound.as_ref().filter(|b| b.along == along).map(|b| b.at);
        let mut x = Fitted::new(self.x.scale, points().map(|point| point.0), bound(Along::X))?;
        let mut y = Fitted::new(self.y.scale, points().map(|point| point.1), bound(Along::Y))?;
        y.pixels = (HEIGHT - 40.0, 27.0);
        let rows: Vec<_> =
            y.ticks(6).into_iter().map(|at| (y.at(at), (self.y.label)(at))).collect();
        let widest = rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0);
        x.pixels = (12.0 + DIGIT * widest as f64, WIDTH - 16.0);
        let columns = self.columns(&x);
        let (left, right, top, bottom) = (x.pixels.0, x.pixels.1, y.pixels.1, y.pixels.0);
        Some(html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
                title { (self.title) }
                desc { (self.description(&x, &y)) }
                @for (at, label) in &rows {
                    line.grid x1=(px(left)) x2=(px(right)) y1=(px(*at)) y2=(px(*at)) {}
                    text x=(px(left - 5.0)) y=(px(at + 4.0)) text-anchor="end" { (label) }
                }
                @for (at, label) in &columns {
                    line.grid x1=(px(*at)) x2=(px(*at)) y1=(px(top)) y2=(px(bottom)) {}
                    // A long label at the right end stays inside.
                    @let middle = at.min(WIDTH - DIGIT * label.chars().count() as f64 / 2.0);
                    text x=(px(middle)) y=(px(bottom + 15.0)) text-anchor="middle" { (label) }
                }
                line.axis x1=(px(left)) x2=(px(right)) y1=(px(bottom)) y2=(px(bottom)) {}
                text.title x=(px(right)) y=(px(HEIGHT - 6.0)) text-anchor="end" { (self.x.title) }
                text.title x="2" y="13" { (self.y.title) }
                @for (line, (_, colour)) in self.lines.iter().zip(self.legend()) {
                    polyline.line points=(polyline(line, &x, &y)) stroke=(colour) {}
                }
                @for strip in &self.strips { (strip.draw(&x, &y)) }
                @for (line, (_, colour)) in self.lines.iter().zip(self.legend()) {
                    @for (point, mark) in line.points.iter().zip(&line.marks) {
                        (mark.draw(x.at(point.0), y.at(point.1), &colour))
                    }
                }
                @if let Some(bound) = &self.bound { (bound.draw(&x, &y, points())) }
            }
        })
    }

    /// Returns the ticks of the horizontal axis, so few that their labels do not touch.
    fn columns(&self, x: &Fitted) -> Vec<(f64, String)> {
        let labelled = |most| -> Vec<(f64, String)> {
            x.ticks(most).into_iter().map(|at| (x.at(at), (self.x.label)(at))).collect()
        };
        let fits = |ticks: &Vec<(f64, String)>| {
            ticks.windows(2).all(|pair| {
                let digits = pair[0].1.chars().count() + pair[1].1.chars().count();
                pair[1].0 - pair[0].0 > DIGIT * (digits as f64 / 2.0 + 1.0)
            })
        };
        (2..9).rev().map(labelled).find(fits).unwrap_or_default()
    }

    fn description(&self, x: &Fitted, y: &Fitted) -> String {
        let names: Vec<_> = self.lines.iter().map(|line| line.name.as_str()).collect();
        let range = |axis: &Axis<'_>, fitted: &Fitted| {
            let [from, to] = [fitted.from, fitted.to].map(axis.label);
            format!("{}, from {from} to {to}", axis.title)
        };
        let mut text = format!(
            "Horizontal axis: {}. Vertical axis: {}. Lines: {}.",
            range(&self.x, x),
            range(&self.y, y),
            list(&names)
        );
        if let Some(bound) = &self.bound {
            let _ = write!(text, " The {} is marked.", bound.label);
        }
        text
    }
}

/// Rounds a coordinate to a tenth.
fn px(at: f64) -> f64 {
    (at * 10.0).round() / 10.0
}

fn polyline(line: &PlotLine, x: &Fitted, y: &Fitted) -> String {
    let mut points: Vec<_> =
        line.points.iter().map(|point| (px(x.at(point.0)), px(y.at(point.1)))).collect();
    points.dedup();
    let points: Vec<_> = points.into_iter().map(|(x, y)| format!("{x},{y}")).collect();
    points.join(" ")
}

impl Mark {
    fn draw(&self, x: f64, y: f64, colour: &str) -> Markup {
        let fill = if self.is_hollow { "var(--paper)" } else { colour };
        // A square is a rectangle without round corners.
        let corner = if self.is_square { 0 } else { 4 };
        let mark = html! {
            rect.mark x=(px(x - 4.0)) y=(px(y - 4.0)) width="8" height="8" rx=(corner) fill=(fill) stroke=(colour) { title { (self.text) } }
        };
        match &self.link {
            Some(link) => html! { a href=(link) { (mark) } },
            None => mark,
        }
    }
}

impl Strip {
    fn draw(&self, x: &Fitted, y: &Fitted) -> Markup {
        let axis = if self.along == Along::X { x } else { y };
        let (a, b) = (axis.at(self.from), axis.at(self.to));
        let (from, to, middle) = (a.min(b), a.max(b), f64::midpoint(a, b));
        let (left, right, top, bottom) = (x.pixels.0, x.pixels.1, y.pixels.1, y.pixels.0);
        let (area, line) = match self.along {
            Along::X => ((from, top, to - from, bottom - top), (middle, middle, top, bottom)),
            Along::Y => ((left, from, right - left, to - from), (left, right, middle, middle)),
        };
        html! {
            g.strip {
                title { (self.text) }
                rect x=(px(area.0)) y=(px(area.1)) width=(px(area.2)) height=(px(area.3)) {}
                line x1=(px(line.0)) x2=(px(line.1)) y1=(px(line.2)) y2=(px(line.3)) {}
            }
        }
    }
}

impl Bound {
    /// Draws the bound as a line, or, outside the axis, as an arrow at its end.
    fn draw<'a>(
        &self,
        x: &Fitted,
        y: &Fitted,
        points: impl Iterator<Item = &'a (f64, f64)>,
    ) -> Markup {
        let (left, right, top, bottom) = (x.pixels.0, x.pixels.1, y.pixels.1, y.pixels.0);
        let (axis, other) = if self.along == Along::X { (x, y) } else { (y, x) };
        let (start, mut end) = other.pixels;
        if let Some(until) = self.until {
            end = other.at(until);
        }
        let at = axis.at(self.at);
        let far = !axis.contains(self.at);
        let points: Vec<_> = points.map(|point| (x.at(point.0), y.at(point.1))).collect();
        let room = DIGIT * self.label.chars().count() as f64;
        let covered = |(from, base, anchor): &(f64, f64, &str)| {
            let from = if *anchor == "end" { from - room } else { *from };
            let is_covered = |point: &&(f64, f64)| {
                (from..from + room).contains(&point.0)
                    && (base - 16.0..base + 8.0).contains(&point.1)
            };
            points.iter().filter(is_covered).count()
        };
        // The label has the first place that covers the fewest points: beside the bound, or above
        // the plot, which covers nothing.
        let above = (right - if far { 16.0 } else { 0.0 }, top - 9.0, "end");
        let (line, arrow, places) = match self.along {
            Along::X => {
                let is_right = at > f64::midpoint(left, right);
                let (side, anchor) = if is_right { (1.0, "end") } else { (-1.0, "start") };
                let low = if far && !is_right { top + 16.0 } else { bottom - 10.0 };
                (
                    (at, at, start, end),
                    [(at, low - 9.0), (at + 7.0 * side, low - 4.0), (at, low + 1.0)],
                    vec![(at - 7.0 * side, low, anchor), above],
                )
            }
            Along::Y => {
                let tip = if at > top { 7.0 } else { -7.0 };
                let arrow = [(right - 10.0, at), (right - 5.0, at + tip), (right, at)];
                let rows = [(at - 6.0, at > top + 16.0), (at + 14.0, at < bottom - 18.0)];
                let rows = rows.into_iter().filter(|(_, has_room)| *has_room && !far);
                let row = |(base, _)| [(right, base, "end"), (left + 8.0, base, "start")];
                ((start, end, at, at), arrow, rows.flat_map(row).chain([above]).collect())
            }
        };
        let label = places.into_iter().min_by_key(covered).unwrap_or(above);
        let corners = arrow.map(|(x, y)| format!("{},{}", px(x), px(y))).join(" ");
        html! {
            @if far {
                polygon.bound points=(corners) {}
            } @else {
                line.bound x1=(px(line.0)) x2=(px(line.1)) y1=(px(line.2)) y2=(px(line.3)) {}
            }
            text.bound x=(px(label.0)) y=(px(label.1)) text-anchor=(label.2) { (self.label) }
        }
    }
}
