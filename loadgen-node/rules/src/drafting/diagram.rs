//! The system diagram (N23) as a Mermaid graph, which GitHub draws: every machine with its linked
//! network interfaces, every switch and every link.

use super::{
    cluster::{Cluster, LinkEnd, NamedMachine},
    submission_toml::{SwitchSettings, Topology},
    topology::Cable,
};
use crate::facts::{count_texts, interfaces, rate};

/// Draws the graph from left to right: the LoadGen node, the switches in the order of the settings,
/// the SUT nodes. Returns it as a block of code in Markdown.
pub(super) fn mermaid(cluster: &Cluster, topology: &Topology, cables: &[Cable<'_>]) -> String {
    // NOTE: GitHub draws at most 500 links and 50,000 characters, enough for about 250 nodes.
    let loadgen = cluster.loadgen().iter().map(|named| {
        let title = "LoadGen node".to_owned();
        (&named.name, machine(title, named, cables))
    });
    let switches = topology.switches.iter().map(|switch| {
        let SwitchSettings { name, model, ports, speed } = switch;
        let size = format!("{ports} ports, {speed}");
        (name, vec![format!("switch {name}"), model.clone(), size])
    });
    let nodes = cluster.nodes().iter().map(|named| {
        let title = format!("SUT node {}", named.name);
        (&named.name, machine(title, named, cables))
    });
    let boxes: Vec<_> = loadgen.chain(switches).chain(nodes).collect();
    let mut text = String::from("```mermaid\ngraph LR\n");
    for (place, (_, lines)) in boxes.iter().enumerate() {
        text += &format!("d{place}[\"{}\"]\n", label(lines));
    }
    for cable in cables {
        let mut ends = cable.ends.each_ref().map(|end| {
            let LinkEnd { device, port } = end;
            let what = if cluster.find(device).is_some() { "interface" } else { "port" };
            // The device of every end is in a box.
            let place = boxes.iter().position(|(name, _)| *name == device).unwrap_or_default();
            (place, format!("{what} {port}"))
        });
        ends.sort();
        let [(from, one), (to, other)] = ends;
        let lines = [format!("{one} to {other}"), cable.text()];
        text += &format!("d{from} ---|\"{}\"| d{to}\n", label(&lines));
    }
    text + "```\n"
}

fn machine(title: String, named: &NamedMachine, cables: &[Cable<'_>]) -> Vec<String> {
    let NamedMachine { name, machine } = named;
    let mut lines = vec![title];
    lines.extend(machine.product.clone());
    lines.extend(count_texts(machine.accelerators.iter().map(|accelerator| &accelerator.name)));
    let ends = cables.iter().flat_map(|cable| &cable.ends).filter(|end| end.device == *name);
    lines.extend(ends.map(|end| {
        let interface = interfaces::find(machine, &end.port);
        let model = interface.and_then(|interface| interface.model.clone());
        let speed = interface.and_then(|interface| interface.speed_mbit_per_second);
        let parts = [Some(end.port.clone()), model, speed.map(rate::format_interface_speed)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }));
    lines
}

/// Joins lines into a label. Writes characters that may have a meaning in Mermaid, Markdown or HTML
/// as numbers. The first line begins with a word of ours, so that no label is a list in Markdown.
fn label(lines: &[String]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " -,/".contains(c);
    let escaped =
        |c: char| if is_plain(c) { String::from(c) } else { format!("#{};", u32::from(c)) };
    let lines: Vec<String> = lines.iter().map(|line| line.chars().map(escaped).collect()).collect();
    lines.join("<br>")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use netdiv_contract::v1::{Interface, Machine};

    use super::*;
    use crate::{drafting::submission_toml::LinkSettings, facts::machines::LOADGEN, fixture};

    #[test]
    fn the_page_on_submissions_shows_the_diagram_of_the_test_submission() {
        let folder = tempfile::tempdir().unwrap();
        let tree = fixture::submission_tree(folder.path(), "network", "v5.0");
        let document = tree.join("network/acme/documentation/system-diagram.md");
        let document = fs::read_to_string(document).unwrap();
        let graph = document.split("```").nth(1).unwrap();
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/SUBMISSION.md");
        let page = fs::read_to_string(page).unwrap();
        assert!(page.contains(&format!("```{graph}```\n")), "docs/SUBMISSION.md lacks {graph}");
    }

    /// Mermaid 11 draws this graph with all names as they are written here.
    #[test]
    fn no_name_breaks_the_graph() {
        let hostile = "- end\"]|} --> x;\n%%{init}%% <b>`_*#1\\&amp; style:é www.a.b \u{1f600}";
        let named = |name: &str| {
            let (product, model) = (Some(hostile.into()), Some(hostile.into()));
            let interface = Interface { name: hostile.into(), model, ..Default::default() };
            let machine = Machine { product, interfaces: vec![interface], ..Default::default() };
            NamedMachine { name: name.into(), machine }
        };
        let cluster = Cluster { machines: vec![named(LOADGEN), named(hostile)] };
        let switch = |name: &str| {
            let (model, speed) = (hostile.into(), hostile.into());
            SwitchSettings { name: name.into(), model, ports: 2, speed }
        };
        let topology = Topology { switches: vec![switch("leaf")], ..Default::default() };
        let text = || hostile.to_owned();
        let (media, rate, length) = (text(), text(), Some(text()));
        let link = LinkSettings { from: text(), to: text(), media, rate, length };
        let end = |device: &str| LinkEnd { device: device.into(), port: hostile.into() };
        let cables = [[LOADGEN, "leaf"], [hostile, "leaf"]];
        let cables = cables.map(|ends| Cable { ends: ends.map(end), link: &link });
        let graph = mermaid(&cluster, &topology, &cables);
        let lines: Vec<_> = graph.lines().collect();
        let [block, kind, boxes @ .., one, other, end] = lines.as_slice() else {
            panic!("{graph}")
        };
        assert_eq!([*block, *kind, *end], ["```mermaid", "graph LR", "```"]);
        assert_eq!(boxes.len(), 3, "{graph}");
        let labels = boxes.iter().enumerate().map(|(place, line)| {
            line.strip_prefix(&format!("d{place}[\"")).and_then(|line| line.strip_suffix("\"]"))
        });
        let links = [one.strip_prefix("d0 ---|\""), other.strip_prefix("d1 ---|\"")];
        let links = links.into_iter().zip(["\"| d1", "\"| d2"]);
        let links = links.map(|(line, end)| line.and_then(|line| line.strip_suffix(end)));
        let escaped = "- end#34;#93;#124;#125; --#62; x#59;#10;#37;#37;#123;init#125;#37;#37; \
                       #60;b#62;#96;#95;#42;#35;1#92;#38;amp#59; style#58;é www#46;a#46;b #128512;";
        for label in labels.chain(links) {
            let rest = label.unwrap().replace(escaped, "");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || " ,/".contains(c);
            assert!(rest.replace("<br>", "").chars().all(is_plain), "{rest}");
        }
    }
}
