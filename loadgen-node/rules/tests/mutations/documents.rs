//! Documents that say what they must in other words, in another drawing, or with other links.

use super::tree::{HOME, Tree};

const SVG: &str = "network/acme/documentation/system-diagram.svg";
const TEXT: &str = "network/acme/documentation/system-diagram.md";
const ARCHITECTURE: &str = "network/acme/documentation/system-architecture.md";
const BANDWIDTH: &str = "network/acme/documentation/bandwidth.md";

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
    let texts = netdiv_rules::testing::drawn(&tree.read(SVG)).unwrap();
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

/// Adds a line to the document on calibration.
fn calibration(tree: &Tree, line: &str) {
    let path = format!("{HOME}/documentation/calibration.md");
    tree.write(&path, &format!("{}\n{line}\n", tree.read(&path)));
}

#[test]
fn links_that_lead_somewhere_are_let_be() {
    let tree = Tree::new();
    calibration(
        &tree,
        "[wire](wire-protocol.md#gRPC) <https://example.org> [x](https://example.org/a.md#b) [m](mailto:a@b.c)\n\
         [json](evidence/fabric.json), [folder](../systems), `[no](no.md)`\n\n## Int8\n\n[up](#int8)\n\n```\n[no](no.md)\n```",
    );
    let tree_of = super::broken(&super::report(&tree));
    assert_eq!(tree_of.into_iter().collect::<Vec<_>>(), ["N35", "N38"]);
    let path = format!("{HOME}/documentation/calibration.md");
    tree.replace(&path, "#gRPC", "#grpc");
    let report = super::report(&tree);
    assert!(!report.failed(), "{}", report.text());
}
