//! What a system diagram is made of: boxes with ports, and links between them, before and after they have a place.

use std::collections::BTreeMap;

use super::svg::Rect;

/// Height of a line of text.
pub(super) const LINE: i32 = 17;
/// Beside the drawing, and inside boxes.
pub(super) const MARGIN: i32 = 16;

/// A box before it has a place.
#[derive(Debug, Clone, Default)]
pub(super) struct Device {
    pub(super) name: String,
    /// From the left.
    pub(super) column: usize,
    pub(super) lines: Vec<String>,
    /// Number of small squares in a row below the lines.
    pub(super) squares: usize,
    /// Text of a port, by its name.
    pub(super) ports: BTreeMap<String, String>,
}

/// A port in its place.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// Where the line meets it.
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) is_left: bool,
    pub(super) text: String,
}

/// A box in its place.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) device: Device,
    pub(super) rect: Rect,
    pub(super) ports: Vec<Port>,
}

/// A link in its place.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) points: Vec<(i32, i32)>,
    /// Where its text may be.
    pub(super) label: Rect,
    pub(super) text: String,
}

/// A drawing.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Placed>,
    pub(super) lines: Vec<Line>,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// A link from left to right: device and port of both ends. Links within a column are drawn on the right of it.
pub(super) struct Edge {
    pub(super) from: (usize, String),
    pub(super) to: (usize, String),
    pub(super) text: String,
}

/// What stands in a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Device(usize),
    /// A link passes here on its way to a later column.
    Passing(usize),
}

/// A number of things, of which no drawing has too many.
pub(super) fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
