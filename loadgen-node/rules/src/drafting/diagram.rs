//! The system diagram (N23): every machine, every network interface on a route, every switch and
//! every link.

use super::{
    cluster::{Cluster, NamedMachine},
    graph,
    graph::Cable,
    layout,
    shapes::{Device, LINE, MARGIN, PlacedBox, count},
    submission_toml::{SwitchSettings, Topology},
    svg::{Rect, Svg},
};
use crate::facts::{count_texts, machines::LOADGEN, rate};

const STYLE: &str = "text { font: 11px monospace; fill: #1a1a1a; }\n\
    .name { font-weight: bold; }\n\
    .link { fill: #444; font-size: 10px; }\n\
    .loadgen { fill: #dbe9f9; stroke: #33619a; }\n\
    .switch { fill: #ececec; stroke: #555; }\n\
    .node { fill: #e2f2df; stroke: #3d7a34; }\n\
    .accelerator { fill: #76b36b; stroke: #3d7a34; }\n\
    .port { fill: white; stroke: #1a1a1a; }\n\
    polyline { fill: none; stroke: #1a1a1a; }\n";

/// Draws the diagram as an SVG file.
pub(super) fn svg(
    title: &str,
    cluster: &Cluster,
    topology: &Topology,
    cables: &[Cable<'_>],
) -> String {
    let layout = layout::place(devices(cluster, topology, cables), cables);
    let mut svg = Svg::default();
    for line in &layout.lines {
        svg.line(&line.points);
        svg.text("link", line.label.x, line.label.bottom() - 4, &line.text);
    }
    for placed in &layout.boxes {
        draw(&mut svg, placed, cluster);
    }
    svg.finish(title, STYLE, layout.width, layout.height)
}

fn draw(svg: &mut Svg, placed: &PlacedBox, cluster: &Cluster) {
    let PlacedBox { device, rect, ports } = placed;
    let class = match device.name.as_str() {
        LOADGEN => "loadgen",
        name if cluster.find(name).is_some() => "node",
        _ => "switch",
    };
    svg.rect(class, *rect);
    let mut y = rect.y + MARGIN / 2;
    for (number, line) in device.lines.iter().enumerate() {
        y += LINE;
        svg.text(if number == 0 { "name" } else { "line" }, rect.x + MARGIN, y - 4, line);
    }
    for square in 0..count(device.squares) {
        let x = rect.x + MARGIN + square * LINE;
        svg.rect("accelerator", Rect { x, y: y + 1, width: LINE - 4, height: LINE - 4 });
    }
    for port in ports {
        svg.rect("port", Rect { x: port.x - 4, y: port.y - 4, width: 8, height: 8 });
        let length = super::svg::width(&port.text);
        let x = if port.is_left { port.x + MARGIN } else { port.x - MARGIN - length };
        svg.text("line", x, port.y + 4, &port.text);
    }
}

/// Returns the boxes of the LoadGen node, the SUT nodes and the switches.
fn devices(cluster: &Cluster, topology: &Topology, cables: &[Cable<'_>]) -> Vec<Device> {
    let levels = graph::levels(topology, cables);
    let last = levels.values().max().copied().unwrap_or(0) + 1;
    let mut devices = Vec::new();
    for (place, named) in cluster.machines.iter().enumerate() {
        devices.push(machine(named, if place == 0 { 0 } else { last }));
    }
    devices.extend(topology.switches.iter().map(|switch| {
        let column = levels.get(&switch.name).copied().unwrap_or(1);
        let SwitchSettings { name, model, ports, speed } = switch;
        let lines =
            vec![format!("switch {name}"), model.clone(), format!("{ports} ports, {speed}")];
        let ports = cables.iter().flat_map(|cable| &cable.ends);
        let ports = ports.filter(|end| end.device == *name);
        let ports = ports.map(|end| (end.port.clone(), format!("port {}", end.port)));
        Device { name: name.clone(), column, lines, squares: 0, ports: ports.collect() }
    }));
    devices
}

fn machine(named: &NamedMachine, column: usize) -> Device {
    let NamedMachine { name, machine } = named;
    let mut lines = vec![match column {
        0 => "LoadGen node".to_owned(),
        _ => format!("SUT node {name}"),
    }];
    lines.extend(machine.product.clone());
    if let Some(model) = &machine.cpu_model {
        let sockets =
            machine.cpu_sockets.map_or_else(String::new, |sockets| format!("{sockets} x "));
        lines.push(format!("{sockets}{model}"));
    }
    lines.extend(machine.operating_system.clone());
    let accelerators = &machine.accelerators;
    lines.extend(count_texts(accelerators.iter().map(|accelerator| &accelerator.name)));
    let ports = machine.interfaces.iter().map(|interface| {
        let mut text = interface.name.clone();
        for part in [
            interface.model.clone(),
            interface.speed_mbit_per_second.map(rate::format_interface_speed),
        ] {
            text.extend(part.map(|part| format!("  {part}")));
        }
        (interface.name.clone(), text)
    });
    let ports = ports.collect();
    Device { name: name.clone(), column, lines, squares: accelerators.len(), ports }
}

#[cfg(test)]
mod tests {
    use netdiv_node_common::words::Mode;

    use super::*;
    use crate::{
        Scenario,
        drafting::{problems::Problems, shapes::Line, submission_toml::LinkSettings, topology},
        fixture::{self, RunSpec},
    };

    const NODES: [&str; 16] = [
        "n00", "n01", "n02", "n03", "n04", "n05", "n06", "n07", "n08", "n09", "n10", "n11", "n12",
        "n13", "n14", "n15",
    ];

    fn link(from: &str, to: &str) -> LinkSettings {
        let (media, rate, length) = ("copper DAC".into(), "100 Gb/s".into(), Some("3 m".into()));
        LinkSettings { from: from.into(), to: to.into(), media, rate, length }
    }

    fn switch(name: &str) -> SwitchSettings {
        let (model, speed) = ("NVIDIA SN3700".into(), "200 Gb/s".into());
        SwitchSettings { name: name.into(), model, ports: 32, speed }
    }

    /// Returns sixteen nodes on two leaf switches below a spine switch. One node also has a direct
    /// link to the LoadGen node, and two have one to each other.
    fn large() -> (Cluster, Topology) {
        let folder = tempfile::tempdir().unwrap();
        let spec = RunSpec::new("resnet50", Scenario::Offline, Mode::Performance);
        let spec = RunSpec { nodes: NODES.to_vec(), accelerators: 8, dataset_samples: 9, ..spec };
        let cluster = Cluster::of(&fixture::run(folder.path(), &spec));
        let mut links = vec![
            link("loadgen:ens1f0np0", "spine:1"),
            link("spine:2", "leaf-1:17"),
            link("leaf-2:17", "spine:3"),
            link("n15:eno1", "loadgen:eno1"),
            link("n02:eno1", "n07:eno1"),
        ];
        for (place, node) in NODES.iter().enumerate() {
            let leaf = if place % 2 == 0 { 1 } else { 2 };
            links.push(link(&format!("{node}:ens1f0np0"), &format!("leaf-{leaf}:{place}")));
        }
        let switches = ["spine", "leaf-1", "leaf-2"].map(switch).to_vec();
        (cluster, Topology { text: None, switches, links })
    }

    fn apart(a: &Rect, b: &Rect) -> bool {
        a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y
    }

    #[test]
    fn nothing_lies_on_anything_else() {
        let (cluster, topology) = large();
        let mut problems = Problems::default();
        let cables = topology::cables(&topology, &cluster, &mut problems);
        assert_eq!(problems.gaps(), []);
        let layout = layout::place(devices(&cluster, &topology, &cables), &cables);
        assert_eq!((layout.boxes.len(), layout.lines.len()), (1 + 3 + 16, topology.links.len()));
        let boxes: Vec<_> = layout.boxes.iter().map(|placed| placed.rect).collect();
        let labels: Vec<_> = layout.lines.iter().map(|line| line.label).collect();
        let all: Vec<_> = boxes.iter().chain(&labels).collect();
        for (place, a) in all.iter().enumerate() {
            assert!(
                a.x >= 0 && a.y >= 0 && a.right() <= layout.width && a.bottom() <= layout.height
            );
            for b in &all[place + 1..] {
                assert!(apart(a, b), "{a:?} and {b:?}");
            }
        }
        let segments = |line: &Line| -> Vec<Rect> {
            let between = |ends: &[(i32, i32)]| {
                let (a, b) = (ends[0], ends[1]);
                let (x, y) = (a.0.min(b.0), a.1.min(b.1));
                Rect { x, y, width: (a.0 - b.0).abs(), height: (a.1 - b.1).abs() }
            };
            line.points.windows(2).map(between).collect()
        };
        for (place, line) in layout.lines.iter().enumerate() {
            for segment in segments(line) {
                assert!(
                    boxes.iter().all(|rect| apart(&segment, rect)),
                    "{}: {segment:?}",
                    line.text
                );
                // Lines may cross at right angles.
                for other in layout.lines[..place].iter().flat_map(segments) {
                    let same = |a: &Rect, b: &Rect| {
                        let upright = a.width == 0 && b.width == 0 && a.x == b.x;
                        let flat = a.height == 0 && b.height == 0 && a.y == b.y;
                        (upright && a.y <= b.bottom() && b.y <= a.bottom())
                            || (flat && a.x <= b.right() && b.x <= a.right())
                    };
                    assert!(!same(&segment, &other), "{segment:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn every_part_is_named() {
        let (cluster, topology) = large();
        let cables = topology::cables(&topology, &cluster, &mut Problems::default());
        let file = svg("the system", &cluster, &topology, &cables);
        for text in [
            "LoadGen node",
            "SUT node n13",
            "switch leaf-2",
            "NVIDIA SN3700",
            "8 x NVIDIA H100 PCIe",
        ] {
            assert!(file.contains(&format!(">{text}</text>")), "{text}");
        }
        let ports = file.matches(">ens1f0np0  ConnectX-6 Dx  100 Gb/s</text>").count();
        assert_eq!((ports, file.matches("copper DAC, 100 Gb/s, 3 m").count()), (17, 21));
        assert_eq!(file.matches("class=\"accelerator\"").count(), 16 * 8);
        assert_eq!(file, svg("the system", &cluster, &topology, &cables));
        if let Some(path) = std::env::var_os("NETDIV_DIAGRAM_OUT") {
            std::fs::write(path, file).unwrap();
        }
    }
}
