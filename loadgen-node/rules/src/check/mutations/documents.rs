//! Edits of the documents about the machines: the diagram where it is drawn, its text, the architecture, the bandwidth.

use serde_json::{Value, json};

use super::{
    Row,
    tree::{HOME, Tree},
};
use crate::Rule::*;

const SVG: &str = "network/acme/documentation/system-diagram.svg";
const TEXT: &str = "network/acme/documentation/system-diagram.md";
const ARCHITECTURE: &str = "network/acme/documentation/system-architecture.md";
const BANDWIDTH: &str = "network/acme/documentation/bandwidth.md";
const NODE: &str = ">SUT node node-b</text>";

/// Edits the first of several equal texts.
fn once(tree: &Tree, path: &str, from: &str, to: &str) {
    let text = tree.read(path);
    assert!(text.contains(from), "{path} has no {from}");
    tree.write(path, &text.replacen(from, to, 1));
}

/// Puts something behind a text of the diagram, before its end.
fn drawn(tree: &Tree, more: &str) {
    once(tree, SVG, "</svg>", &format!("{more}</svg>"));
}

/// Puts an attribute into the element that names node-b.
fn node(tree: &Tree, attribute: &str) {
    let svg = tree.read(SVG);
    let place = svg.find(NODE).unwrap();
    tree.write(SVG, &format!("{} {attribute}{}", &svg[..place], &svg[place..]));
}

/// Adds to the style sheet.
fn style(tree: &Tree, rule: &str) {
    once(tree, SVG, "</style>", &format!("{rule}\n</style>"));
}

/// Puts that into the report on the bandwidth that was measured.
fn fabric(tree: &Tree, report: Value) {
    tree.write(&format!("{HOME}/documentation/evidence/fabric.json"), &report.to_string());
}

pub(super) const ROWS: &[Row] = &[
    // What the diagram does not show.
    ("a node in a comment", &[N23], |tree| {
        once(tree, SVG, NODE, "></text><!-- SUT node node-b -->")
    }),
    ("a node in a title", &[N23], |tree| {
        once(tree, SVG, NODE, "><title>SUT node node-b</title></text>")
    }),
    ("a node in an attribute", &[N23], |tree| {
        once(tree, SVG, NODE, " id=\"SUT node node-b\"></text>")
    }),
    ("a node in a definition", &[N23], |tree| {
        once(tree, SVG, NODE, "></text><defs><text>SUT node node-b</text></defs>");
    }),
    ("a node that is not displayed", &[N23], |tree| node(tree, "display=\"none\"")),
    ("a node that a style hides", &[N23], |tree| node(tree, "style=\"visibility: hidden\"")),
    ("names that a rule hides", &[N23], |tree| style(tree, ".name { display: none }")),
    ("names without size by a rule", &[N23], |tree| style(tree, "text.name { font-size: 0 }")),
    ("names that a rule of another kind hides", &[N23], |tree| {
        style(tree, "svg > .name { display: none }")
    }),
    ("a rule that depends on the medium", &[N23], |tree| {
        style(tree, "@media all { .name { display: none } }")
    }),
    ("a node that is transparent", &[N23], |tree| node(tree, "opacity=\"0\"")),
    ("a node in letters of the ground's colour", &[N23], |tree| {
        node(tree, "style=\"fill: #e2f2df\"")
    }),
    ("a node in letters of no colour", &[N23], |tree| node(tree, "style=\"fill: none\"")),
    ("a node in letters of no size", &[N23], |tree| node(tree, "style=\"font-size: 0px\"")),
    ("a node in letters that are scaled away", &[N23], |tree| {
        node(tree, "transform=\"scale(0.001)\"")
    }),
    ("a node that is moved out of the drawing", &[N23], |tree| {
        node(tree, "transform=\"translate(0 90000)\"")
    }),
    ("a node behind a clip", &[N23], |tree| node(tree, "clip-path=\"url(#none)\"")),
    ("a node under something", &[N23], |tree| {
        drawn(tree, "<rect x=\"0\" y=\"0\" width=\"100%\" height=\"9999\" fill=\"url(#g)\"/>");
    }),
    ("a node under a wide line", &[N23], |tree| {
        drawn(tree, "<line x2=\"2000\" y2=\"2000\" stroke=\"#fff\" stroke-width=\"4000\"/>");
    }),
    ("a node with a thick outline", &[N23], |tree| {
        node(tree, "stroke=\"#e2f2df\" stroke-width=\"9\"")
    }),
    ("a node whose letters are apart", &[N23], |tree| {
        node(tree, "style=\"letter-spacing: 900px\"")
    }),
    ("a drawing that is cut", &[N23], |tree| {
        once(tree, SVG, "<svg ", "<svg preserveAspectRatio=\"xMinYMin slice\" ");
    }),
    ("a drawing of which only a corner is shown", &[N23], |tree| {
        once(tree, SVG, "viewBox=\"0 0 ", "viewBox=\"0 0 1");
        let svg = tree.read(SVG);
        let (before, rest) = svg.split_once("viewBox=\"").unwrap();
        let (_, after) = rest.split_once('"').unwrap();
        tree.write(SVG, &format!("{before}viewBox=\"0 0 20 20\"{after}"));
    }),
    ("a drawing without size", &[N23], |tree| {
        once(tree, SVG, " width=\"", " width=\"0.01\" data-was=\"")
    }),
    ("a drawing that moves", &[N23], |tree| {
        drawn(
            tree,
            "<animate attributeName=\"opacity\" values=\"1;0\" dur=\"1ms\" fill=\"freeze\"/>",
        );
    }),
    ("a drawing with a script", &[N23], |tree| {
        drawn(tree, "<script>document.body.remove()</script>")
    }),
    ("texts that are exchanged", &[N23], |tree| {
        once(tree, SVG, NODE, ">SUT node NODE</text>");
        once(tree, SVG, ">SUT node node-a</text>", NODE);
        once(tree, SVG, ">SUT node NODE</text>", ">SUT node node-a</text>");
    }),
    // What it shows otherwise.
    ("a link that is said to be longer", &[N23], |tree| once(tree, SVG, ", 2 m<", ", 3 m<")),
    ("a link of another medium", &[N23], |tree| once(tree, SVG, ">copper DAC", ">fiber")),
    ("one faster interface", &[N23], |tree| once(tree, SVG, "Dx  100 Gb/s", "Dx  400 Gb/s")),
    ("more accelerators than there are", &[N23], |tree| {
        once(tree, SVG, ">2 x NVIDIA", ">8 x NVIDIA")
    }),
    ("another model of the switch", &[N23], |tree| {
        once(tree, SVG, ">NVIDIA SN3700", ">NVIDIA SN5600")
    }),
    ("another port of the switch", &[N23], |tree| once(tree, SVG, ">port 3<", ">port 4<")),
    ("a node that there is not", &[N23], |tree| {
        drawn(tree, "<text x=\"40\" y=\"40\">SUT node node-c</text>")
    }),
    ("an interface that there is not", &[N23], |tree| {
        drawn(tree, "<text x=\"40\" y=\"40\">ens2f0np0 ConnectX-6 Dx 100 Gb/s</text>");
    }),
    ("a node twice", &[N23], |tree| drawn(tree, "<text x=\"40\" y=\"40\">SUT node node-b</text>")),
    // The diagram's text.
    ("another processor in the text", &[N23], |tree| once(tree, TEXT, "EPYC 9654", "EPYC 9754")),
    ("another firmware in the text", &[N23], |tree| {
        once(tree, TEXT, "firmware 22.39.1002", "firmware 22.40.1000")
    }),
    ("a machine that the text lacks", &[N23], |tree| {
        let text = tree.read(TEXT);
        let lines = text.lines().filter(|line| !line.starts_with("| node-b | Acme"));
        tree.write(TEXT, &lines.collect::<Vec<_>>().join("\n"));
    }),
    ("a link that only the text has", &[N23], |tree| {
        let text = tree.read(TEXT);
        tree.write(
            TEXT,
            &format!("{}\n| leaf-1:9 | node-c:eth0 | fiber | 400 Gb/s | 2 m |\n", text.trim_end()),
        );
    }),
    ("a longer link in the text", &[N23], |tree| once(tree, TEXT, "| 2 m |", "| 20 m |")),
    ("a switch that is linked with nothing", &[N22, N23], |tree| {
        once(tree, TEXT, "\n## Links", "| leaf-2 | NVIDIA SN3700 | 32 | 200 Gb/s |\n\n## Links");
    }),
    ("a switch with more ports", &[N23], |tree| once(tree, TEXT, "SN3700 | 32 |", "SN3700 | 64 |")),
    ("fewer nodes in the text's sentence", &[N23], |tree| {
        once(tree, TEXT, "SUT: node-a, node-b", "SUT: node-a")
    }),
    // Architecture and bandwidth.
    ("another speed in the architecture", &[N28], |tree| {
        once(tree, ARCHITECTURE, "| 100 Gb/s |", "| 200 Gb/s |")
    }),
    ("another link to the host", &[N28], |tree| {
        once(tree, ARCHITECTURE, "PCIe 5.0 x16 |", "PCIe 6.0 x16 |")
    }),
    ("an accelerator that there is not", &[N28], |tree| {
        let row = "| node-b | NVIDIA H100 PCIe | 0000:61:00.0 | PCIe 5.0 x16 |\n";
        once(tree, ARCHITECTURE, row, &format!("{row}{}", row.replace(":61:", ":c1:")));
    }),
    ("a sum of interfaces that is none", &[N28], |tree| {
        once(tree, ARCHITECTURE, "| loadgen | 100 Gb/s |", "| loadgen | 800 Gb/s |")
    }),
    ("a bandwidth measured above what the interfaces carry", &[N28], |tree| {
        fabric(tree, json!({"bandwidth": [{"total": {"bytes_per_second_to_nodes": 30e9}}]}));
    }),
    ("a bandwidth measured over another interface", &[N28], |tree| {
        fabric(
            tree,
            json!({"routes": [{"link": {"interface": "eth9", "speed_mbit_per_second": 400_000}}]}),
        );
    }),
    ("a bandwidth measured over an interface of another speed", &[N28], |tree| {
        fabric(
            tree,
            json!({"routes": [{"link": {"interface": "ens1f0np0", "speed_mbit_per_second": 400_000}}]}),
        );
    }),
    ("evidence of a machine that is in no run", &[N22], |tree| {
        let machine = tree.read(&format!("{HOME}/documentation/evidence/node-b.json"));
        tree.write(&format!("{HOME}/documentation/evidence/node-c.json"), &machine);
    }),
    ("no evidence of a machine", &[N22], |tree| {
        tree.remove(&format!("{HOME}/documentation/evidence/node-b.json"))
    }),
    ("a measurement that is not there", &[N35], |tree| {
        tree.remove(&format!("{HOME}/documentation/evidence/fabric.json"))
    }),
    ("calibration in a heading alone", &[N2], |tree| {
        tree.write(&format!("{HOME}/documentation/calibration.md"), "# Nothing was quantized\n");
    }),
    ("another throughput in the report", &[N27], |tree| {
        once(tree, BANDWIDTH, " samples per second.", "0 samples per second.")
    }),
    ("less asked in the report", &[N27], |tree| {
        once(tree, BANDWIDTH, "| 24 Gb/s |", "| 20 Gb/s |")
    }),
    ("more capacity in the report", &[N27], |tree| {
        once(tree, BANDWIDTH, "| 100 Gb/s |", "| 400 Gb/s |")
    }),
    ("fewer bytes sent in the report", &[N27], |tree| {
        once(tree, BANDWIDTH, "Sent: 150528", "Sent: 15052")
    }),
    ("another formula in the report", &[N27], |tree| {
        once(tree, BANDWIDTH, "Formula: ", "Formula: 2 x ")
    }),
    ("a report with the figures of the other scenario", &[N27], |tree| {
        once(tree, BANDWIDTH, "resnet50 Offline", "resnet50 NONE");
        once(tree, BANDWIDTH, "resnet50 Server", "resnet50 Offline");
        once(tree, BANDWIDTH, "resnet50 NONE", "resnet50 Server");
    }),
    ("another verdict in the report", &[N27], |tree| {
        once(tree, BANDWIDTH, "The interfaces carry it.", "It fits.")
    }),
    ("a result that was not measured", &[N27], |tree| {
        let text = tree.read(BANDWIDTH);
        tree.write(
            BANDWIDTH,
            &format!("{text}\n## bert-99 Offline\n\n90000.0 samples per second.\n"),
        );
    }),
];

/// In the Open division, the list of rules is the one that a check makes.
#[test]
fn why_it_is_open() {
    let path = "open/acme/documentation/why-open.md";
    let fails = |edit: fn(&Tree, &str)| {
        let tree = Tree::of("open", "v5.0");
        edit(&tree, path);
        super::broken(&super::report(&tree)).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(fails(|_, _| {}), [""; 0]);
    assert_eq!(
        fails(|tree, path| tree.write(path, "# Why this is in the Open division\n")),
        ["N38"]
    );
    assert_eq!(
        fails(|tree, path| tree.write(path, &(tree.read(path) + "\n- N5 (section 6.2.2): a bus\n"))),
        ["N38"]
    );
    fn without_ecc(tree: &Tree) {
        tree.every_record(|record| {
            record.evidence.as_mut().unwrap().loadgen_node.memory_ecc = Some(false)
        });
    }
    assert_eq!(fails(|tree, _| without_ecc(tree)), ["N38"]);
    assert_eq!(
        fails(|tree, path| {
            without_ecc(tree);
            tree.write(path, &(tree.read(path) + "\n- N29 (section 4.1.1): no ECC\n"));
        }),
        [""; 0]
    );
}

/// Another layout, the same texts.
#[test]
fn a_drawing_by_another_hand() {
    let tree = Tree::new();
    let texts = crate::facts::svg::drawn(&tree.read(SVG)).unwrap();
    assert_eq!(texts.hidden, []);
    let mut svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 2000\" width=\"800\" height=\"2000\">\n\
                   <style>text { font-family: sans-serif; font-size: 10pt } #n { fill: #fff }</style>\n\
                   <path d=\"M 0 0 h 400 v 10 z\" fill=\"#003\"/><rect y=\"20\" width=\"800\" height=\"1980\" fill=\"#222\"/>\n\
                   <g id=\"n\" transform=\"translate(10, 40)\"><text>The system two-H100-nodes</text>\n"
        .to_owned();
    for (place, text) in texts.seen.iter().enumerate() {
        let (first, rest) = text.text.split_once(' ').unwrap_or((&text.text, ""));
        let y = 20 + 25 * place;
        svg += &format!("<text y=\"{y}\">{first}<tspan x=\"0\" dy=\"1em\">{rest}</tspan></text>\n");
    }
    tree.write(SVG, &(svg + "</g></svg>"));
    let report = super::report(&tree);
    assert!(!report.failed(), "{}", report.text());
}

/// Other words around the same facts.
#[test]
fn documents_by_another_hand() {
    let tree = Tree::new();
    for path in [TEXT, ARCHITECTURE, BANDWIDTH] {
        let text = tree.read(path);
        let (_, rest) = text.split_once('\n').unwrap();
        let lines = rest.lines().filter(|line| !line.contains("---"));
        let plain = |line: &str| match path == TEXT && line.contains("SN3700") {
            true => line.to_owned(),
            false => line.replace(" | ", ", ").replace('|', "*"),
        };
        let lines: Vec<_> = lines.map(plain).collect();
        tree.write(path, &format!("# What we built\n{}\n", lines.join("\n")));
    }
    let report = super::report(&tree);
    assert!(!report.failed(), "{}", report.text());
    let place = format!("{HOME}/documentation/system-diagram.md");
    tree.replace(&place, "ConnectX-6 Dx", "ConnectX-7");
    assert_eq!(super::broken(&super::report(&tree)).len(), 2);
}
