//! Documents about the machines: the diagram, its text, and the architecture. A check regenerates
//! them from a tree and compares the bytes.

use super::{
    architecture, cluster::Cluster, diagram, graph::Cable, problems::Problems,
    submission_toml::Topology, topology::cables,
};
use crate::{record::RunResult, tree::documents};

/// Version of the form of the documents that are generated from runs. Increase it with every change
/// of their appearance: a check cannot judge documents of another form.
pub(crate) const FORM: u32 = 1;

/// Placeholder for a submitter's text in a regenerated document. It contains a line break, so that
/// no other text is equal to it.
pub(crate) const FREE: &str = "\u{fffc}\n\u{fffc}";
pub(crate) const FREE_SIGN: char = '\u{fffc}';

const MARK: [&str; 2] = [
    "<!-- Made by loadgen-node of the runs, form ",
    ". Whoever changes this file removes this line. -->",
];

/// Returns the offset of the mark in a document: below the title of a drawing, or the heading of a
/// text.
fn place_of_mark(text: &str) -> Option<usize> {
    let above = if text.starts_with('<') { "</title>\n" } else { "\n\n" };
    Some(text.find(above)? + above.len())
}

/// Inserts the mark into a document.
pub(crate) fn with_mark(mut text: String) -> String {
    let end = if text.starts_with('<') { "\n" } else { "\n\n" };
    if let Some(place) = place_of_mark(&text) {
        text.insert_str(place, &format!("{}{FORM}{}{end}", MARK[0], MARK[1]));
    }
    text
}

/// Returns the version of a document's form; `None` if the document was not generated.
pub(crate) fn form(text: &str) -> Option<u32> {
    let (_, below) = text.split_at(place_of_mark(text)?);
    below.strip_prefix(MARK[0])?.split_once(MARK[1])?.0.parse().ok()
}

/// Generates the documents: the name and the text of each. `data_path` describes the path from the
/// network to the accelerators, and `measured` is the evidence of that path's bandwidth.
pub(super) fn generate(
    system: &str,
    cluster: &Cluster,
    topology: &Topology,
    cables: &[Cable<'_>],
    [data_path, measured]: [&str; 2],
) -> [(&'static str, String); 3] {
    let title = format!("The system {system}");
    [
        (documents::DIAGRAM, diagram::svg(&title, cluster, topology, cables)),
        (documents::DIAGRAM_TEXT, architecture::diagram_text(system, cluster, topology, cables)),
        (documents::ARCHITECTURE, architecture::architecture(system, cluster, data_path, measured)),
    ]
    .map(|(name, text)| (name, with_mark(text)))
}

/// Like [`generate`], but for the machines in a run's record. `texts` are `data_path` and
/// `measured`.
pub(crate) fn regenerate(
    system: &str,
    record: &RunResult,
    topology: &Topology,
    texts: [&str; 2],
) -> [(&'static str, String); 3] {
    let cluster = Cluster::of(record);
    let cables = cables(topology, &cluster, &mut Problems::default());
    generate(system, &cluster, topology, &cables, texts)
}
