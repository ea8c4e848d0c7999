//! Layout of the system diagram.
//!
//! The columns from left to right contain the LoadGen node, the switches by their distance from it,
//! and the SUT nodes. A link runs from a port on the right of one box to a port on the left of
//! another. Between two columns each link has a separate lane for its vertical part, and its text
//! is beside the port at its end. Ports on the right are half a row below ports on the left, so
//! that no line overlaps another, and no box or text overlaps anything.

use super::{
    drawing::Drawing,
    graph::{Cable, LinkEnd},
    shapes::{ColumnItem, Device, DiagramLayout, Edge},
};

/// Places devices and the links between them. `devices` are in the preferred order from top to
/// bottom.
pub(super) fn place(devices: Vec<Device>, cables: &[Cable<'_>]) -> DiagramLayout {
    let edges = edges(&devices, cables);
    let columns = columns(&devices, &edges);
    Drawing::new(devices, edges, &columns).finish(&columns)
}

fn edges(devices: &[Device], cables: &[Cable<'_>]) -> Vec<Edge> {
    let find = |end: &LinkEnd| {
        let place = devices.iter().position(|device| device.name == end.device)?;
        Some((place, end.port.clone()))
    };
    let edge = |cable: &Cable<'_>| {
        let (mut from, mut to) = (find(&cable.ends[0])?, find(&cable.ends[1])?);
        if devices[from.0].column > devices[to.0].column {
            std::mem::swap(&mut from, &mut to);
        }
        Some(Edge { from, to, text: cable.text() })
    };
    cables.iter().filter_map(edge).collect()
}

/// Returns the items of each column, from top to bottom. An item is near the items in the column on
/// its left that it has links to.
fn columns(devices: &[Device], edges: &[Edge]) -> Vec<Vec<ColumnItem>> {
    let count = devices.iter().map(|device| device.column + 1).max().unwrap_or(0);
    let mut columns: Vec<Vec<ColumnItem>> = Vec::new();
    for column in 0..count {
        let here = |place: &usize| devices[*place].column == column;
        let mut items: Vec<_> = (0..devices.len()).filter(here).map(ColumnItem::Device).collect();
        let passes = |edge: &Edge| {
            devices[edge.from.0].column < column && column < devices[edge.to.0].column
        };
        let passing = edges.iter().enumerate().filter(|(_, edge)| passes(edge));
        items.extend(passing.map(|(place, _)| ColumnItem::Passing(place)));
        if let Some(before) = columns.last() {
            let height = |item: &ColumnItem| {
                let of = |edge: usize| {
                    let from = [ColumnItem::Passing(edge), ColumnItem::Device(edges[edge].from.0)];
                    before.iter().position(|item| from.contains(item))
                };
                let linked: Vec<usize> = match item {
                    ColumnItem::Passing(edge) => of(*edge).into_iter().collect(),
                    ColumnItem::Device(device) => {
                        let ends_here = |edge: &usize| edges[*edge].to.0 == *device;
                        (0..edges.len()).filter(ends_here).filter_map(of).collect()
                    }
                };
                match linked.len() {
                    0 => usize::MAX,
                    links => linked.iter().sum::<usize>() * 1000 / links,
                }
            };
            items.sort_by_key(height);
        }
        columns.push(items);
    }
    columns
}
