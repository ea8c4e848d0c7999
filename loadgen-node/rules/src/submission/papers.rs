//! The documents about the machines: the diagram, its text, and the architecture. A check makes them again, from a tree, and
//! compares the bytes.

use super::{
    architecture, cable::Cable, cluster::Cluster, diagram, problems::Problems,
    submission_toml::Topology, topology::cables,
};
use crate::{record::RunResult, tree::documents};

/// The mark of a document that the runs make, up to the version of the program.
pub(crate) const MARK: &str = "<!-- Made by loadgen-node ";

/// Stands for a text of the submitter's in a document that a check makes.
pub(crate) const FREE: &str = "\u{fffc}";

/// Returns a document with the mark: below the title of a drawing, or the heading of a text.
pub(crate) fn marked(text: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mark =
        format!("{MARK}{version} of the runs. Whoever changes this file removes this line. -->\n");
    let (below, end) = if text.starts_with('<') { ("</title>\n", "") } else { ("\n\n", "\n") };
    text.replacen(below, &format!("{below}{mark}{end}"), 1)
}

/// Returns the version of the program that made a document; none for a document by another hand.
pub(crate) fn maker(text: &str) -> Option<&str> {
    let (_, made) = text.rsplit_once(MARK)?;
    made.split_whitespace().next()
}

/// Each document's name and text; `texts` are the way from the network to the accelerators, and what shows its bandwidth.
pub(super) fn of(
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
    .map(|(name, text)| (name, marked(&text)))
}

/// The same, of the machines that a run's record has.
pub(crate) fn again(
    system: &str,
    record: &RunResult,
    topology: &Topology,
    texts: [&str; 2],
) -> [(&'static str, String); 3] {
    let cluster = Cluster::of(record);
    let cables = cables(topology, &cluster, &mut Problems::default());
    of(system, &cluster, topology, &cables, texts)
}
