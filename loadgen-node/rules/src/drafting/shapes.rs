//! Shapes of a system diagram: boxes with ports, and links between them, before and after
//! placement.

use std::collections::BTreeMap;

use super::svg::Rect;

/// Height of a line of text.
pub(super) const LINE: i32 = 17;
/// Margin around the drawing and inside boxes.
pub(super) const MARGIN: i32 = 16;

/// A device before placement: a machine or a switch, drawn as a box.
#[derive(Debug, Clone, Default)]
pub(super) struct Device {
    pub(super) name: String,
    /// Index of the column, from the left.
    pub(super) column: usize,
    pub(super) lines: Vec<String>,
    /// Number of accelerators, drawn as small squares in a row below the lines.
    pub(super) squares: usize,
    /// Text of each port, by the port's name.
    pub(super) ports: BTreeMap<String, String>,
}

/// A placed port.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// Point at which the line meets the port.
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) is_left: bool,
    pub(super) text: String,
}

/// A placed box.
#[derive(Debug, Clone)]
pub(super) struct PlacedBox {
    pub(super) device: Device,
    pub(super) rect: Rect,
    pub(super) ports: Vec<Port>,
}

/// A placed link.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) points: Vec<(i32, i32)>,
    /// Area for the text.
    pub(super) label: Rect,
    pub(super) text: String,
}

/// A finished drawing.
#[derive(Debug)]
pub(super) struct DiagramLayout {
    pub(super) boxes: Vec<PlacedBox>,
    pub(super) lines: Vec<Line>,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// A link from left to right. Each end is the index of a device and the name of a port. A link
/// within a column is drawn to the right of it.
pub(super) struct Edge {
    pub(super) from: (usize, String),
    pub(super) to: (usize, String),
    pub(super) text: String,
}

/// An item in a column, by index of the device or the link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnItem {
    Device(usize),
    /// A link that passes this column on its way to a later one.
    Passing(usize),
}

/// Converts a count into a coordinate. No drawing has more items than a coordinate can count.
pub(super) fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
