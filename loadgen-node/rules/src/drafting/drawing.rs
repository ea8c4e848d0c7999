//! Computes the coordinates of a drawing from columns of boxes.

use std::collections::BTreeMap;

use super::{
    shapes::{ColumnItem, Device, DiagramLayout, Edge, LINE, Line, MARGIN, PlacedBox, Port, count},
    svg::{self, Rect},
};

/// Height of a row, in pixels: all boxes start and end at a multiple of it.
const ROW: i32 = 26;
/// Width of a lane, in pixels. Each line between two columns has a lane for its vertical part.
const LANE: i32 = 12;

/// A drawing whose coordinates are not computed yet.
pub(super) struct Drawing {
    devices: Vec<Device>,
    edges: Vec<Edge>,
    /// Edges at the ports of each device, by index of the device: edges at its left ports, and
    /// edges at its right ports, each from top to bottom.
    rows: BTreeMap<usize, [Vec<usize>; 2]>,
}

impl Drawing {
    /// Creates a drawing of devices and the links between them. `columns` contains the items of
    /// each column, from top to bottom.
    pub(super) fn new(devices: Vec<Device>, edges: Vec<Edge>, columns: &[Vec<ColumnItem>]) -> Self {
        let mut drawing = Self { devices, edges, rows: BTreeMap::new() };
        drawing.order_ports(columns);
        drawing
    }

    fn is_loop(&self, edge: usize) -> bool {
        let Edge { from, to, .. } = &self.edges[edge];
        self.devices[from.0].column == self.devices[to.0].column
    }

    /// Orders the ports of each device like the items at the other ends of their links.
    fn order_ports(&mut self, columns: &[Vec<ColumnItem>]) {
        let height = |item: ColumnItem| {
            columns.iter().find_map(|column| column.iter().position(|other| *other == item))
        };
        for place in 0..self.devices.len() {
            let edges = || 0..self.edges.len();
            let mut left: Vec<_> = edges()
                .filter(|edge| self.edges[*edge].to.0 == place && !self.is_loop(*edge))
                .collect();
            let mut right: Vec<_> = edges()
                .filter(|edge| {
                    let Edge { from, to, .. } = &self.edges[*edge];
                    from.0 == place || (to.0 == place && self.is_loop(*edge))
                })
                .collect();
            left.sort_by_key(|edge| height(ColumnItem::Device(self.edges[*edge].from.0)));
            right.sort_by_key(|edge| {
                let to = height(ColumnItem::Device(self.edges[*edge].to.0));
                (self.is_loop(*edge), height(ColumnItem::Passing(*edge)).or(to))
            });
            self.rows.insert(place, [left, right]);
        }
    }

    fn text(&self, device: usize, edge: usize) -> &str {
        let Edge { from, to, .. } = &self.edges[edge];
        let port = if from.0 == device { &from.1 } else { &to.1 };
        self.devices[device].ports.get(port).unwrap_or(port)
    }

    /// Returns the width and the height of the box for the device with the index `place`.
    fn size(&self, place: usize) -> (i32, i32) {
        let device = &self.devices[place];
        let widest =
            |texts: &mut dyn Iterator<Item = &str>| texts.map(svg::width).max().unwrap_or(0);
        let [left, right] = &self.rows[&place];
        let [of_left, of_right] = [left, right]
            .map(|edges| widest(&mut edges.iter().map(|edge| self.text(place, *edge))));
        let lines = widest(&mut device.lines.iter().map(String::as_str));
        let squares = count(device.squares) * LINE;
        let width = lines.max(squares).max(of_left + of_right + MARGIN) + 2 * MARGIN;
        (width, header(device) + (count(left.len().max(right.len())) + 1) * ROW)
    }

    /// Returns the distance of an edge's port from the upper side of the device, in pixels.
    fn port(&self, device: usize, edge: usize, is_left: bool) -> i32 {
        let side = &self.rows[&device][usize::from(!is_left)];
        let row = count(side.iter().position(|other| *other == edge).unwrap_or(0));
        header(&self.devices[device]) + row * ROW + if is_left { ROW / 2 } else { ROW }
    }

    /// Computes all coordinates.
    pub(super) fn finish(self, columns: &[Vec<ColumnItem>]) -> DiagramLayout {
        let tops = self.tops(columns);
        let height = columns.iter().flatten().zip(tops.values().flatten());
        let height = height.map(|(item, top)| top + self.height(*item)).max().unwrap_or(0);
        let mut boxes = BTreeMap::new();
        // Points of each edge in the columns so far, from left to right.
        let mut points: Vec<Vec<(i32, i32)>> = vec![Vec::new(); self.edges.len()];
        let mut label_from = vec![0; self.edges.len()];
        let mut x = MARGIN;
        for (number, column) in columns.iter().enumerate() {
            // Edges that enter this column, each with the height at which it does.
            let mut enter = Vec::new();
            for (item, top) in column.iter().zip(&tops[&number]) {
                match item {
                    ColumnItem::Passing(edge) => enter.push((*edge, top + ROW / 2)),
                    ColumnItem::Device(place) => {
                        let [left, _] = &self.rows[place];
                        let at = |edge: &usize| (*edge, top + self.port(*place, *edge, true));
                        enter.extend(left.iter().map(at));
                    }
                }
            }
            x += lanes(&enter, &mut points, x);
            for (edge, _) in &enter {
                label_from[*edge] = x;
            }
            let texts = enter
                .iter()
                .filter(|(edge, _)| self.devices[self.edges[*edge].to.0].column == number);
            x += texts
                .map(|(edge, _)| svg::width(&self.edges[*edge].text) + MARGIN)
                .max()
                .unwrap_or(0);
            let width = column.iter().map(|item| match item {
                ColumnItem::Device(place) => self.size(*place).0,
                ColumnItem::Passing(_) => 0,
            });
            let width = width.max().unwrap_or(0);
            for (edge, y) in enter {
                points[edge].push((x, y));
            }
            for (item, top) in column.iter().zip(&tops[&number]) {
                match item {
                    ColumnItem::Passing(edge) => points[*edge].push((x + width, top + ROW)),
                    ColumnItem::Device(place) => {
                        let rect = Rect { x, y: *top, width, height: self.height(*item) };
                        boxes.insert(*place, self.place_box(*place, rect));
                        for edge in &self.rows[place][1] {
                            points[*edge].push((x + width, top + self.port(*place, *edge, false)));
                        }
                    }
                }
            }
            x += width;
        }
        let (lines, right) = self.lines(points, &label_from, x);
        let boxes = boxes.into_values().collect();
        DiagramLayout { boxes, lines, width: right + MARGIN, height: height + ROW }
    }

    /// Returns the height of the upper side of every item, by index of the column. Columns are
    /// centred vertically.
    fn tops(&self, columns: &[Vec<ColumnItem>]) -> BTreeMap<usize, Vec<i32>> {
        let tall = |column: &Vec<ColumnItem>| {
            column.iter().map(|item| self.height(*item) + ROW).sum::<i32>()
        };
        let tallest = columns.iter().map(tall).max().unwrap_or(0);
        let tops = columns.iter().map(|column| {
            let mut y = ROW + (tallest - tall(column)) / 2 / ROW * ROW;
            let top = |item: &ColumnItem| {
                let top = y;
                y += self.height(*item) + ROW;
                top
            };
            column.iter().map(top).collect()
        });
        tops.enumerate().collect()
    }

    fn height(&self, item: ColumnItem) -> i32 {
        match item {
            ColumnItem::Device(place) => self.size(place).1,
            ColumnItem::Passing(_) => ROW,
        }
    }

    /// Returns the links with their texts, and the rightmost coordinate of all links. A link within
    /// a column runs to the right of all columns, whose right side is `x`.
    fn lines(&self, points: Vec<Vec<(i32, i32)>>, label_from: &[i32], x: i32) -> (Vec<Line>, i32) {
        let (mut right, mut loops) = (x, x);
        let mut lines = Vec::new();
        for (place, mut points) in points.into_iter().enumerate() {
            let text = self.edges[place].text.clone();
            let mut from = label_from[place];
            if let (true, [start, end]) = (self.is_loop(place), &points[..]) {
                loops += ROW;
                from = loops;
                points = vec![*start, (loops, start.1), (loops, end.1), *end];
                // The next link within a column is to the right of this text.
                loops += svg::width(&text) + 4;
                right = loops;
            }
            let y = points.last().map_or(0, |(_, y)| *y);
            let label =
                Rect { x: from + 4, y: y - LINE, width: svg::width(&text), height: LINE - 2 };
            lines.push(Line { points, label, text });
        }
        (lines, right)
    }

    fn place_box(&self, place: usize, rect: Rect) -> PlacedBox {
        let device = self.devices[place].clone();
        let mut ports = Vec::new();
        for (edges, is_left) in self.rows[&place].iter().zip([true, false]) {
            for edge in edges {
                let y = rect.y + self.port(place, *edge, is_left);
                let x = if is_left { rect.x } else { rect.right() };
                ports.push(Port { x, y, is_left, text: self.text(place, *edge).into() });
            }
        }
        PlacedBox { device, rect, ports }
    }
}

/// Extends edges to the next column, each in a separate lane. `enter` contains these edges, each
/// with the height at which it enters that column; `points` contains the points of all edges so
/// far; the first lane is to the right of `x`. The edges that go farthest up or down turn first, so
/// that fewer lines cross. Returns the width of all lanes.
fn lanes(enter: &[(usize, i32)], points: &mut [Vec<(i32, i32)>], x: i32) -> i32 {
    let from = |edge: usize, points: &[Vec<(i32, i32)>]| points[edge].last().map_or(0, |(_, y)| *y);
    let mut order = enter.to_vec();
    order.sort_by_key(|(edge, to)| if *to < from(*edge, points) { (0, *to) } else { (1, -*to) });
    let mut lane = x;
    for (edge, to) in order {
        lane += LANE;
        let y = from(edge, points);
        points[edge].extend([(lane, y), (lane, to)]);
    }
    if enter.is_empty() { 0 } else { lane - x + LANE }
}

/// Returns the height of the part of a box above its ports, a multiple of [`ROW`].
fn header(device: &Device) -> i32 {
    let squares = if device.squares > 0 { LINE } else { 0 };
    let height = MARGIN / 2 + count(device.lines.len()) * LINE + squares;
    (height + ROW - 1) / ROW * ROW
}
