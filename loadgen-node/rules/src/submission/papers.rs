//! The documents about the machines: the diagram, its text, and the architecture. A check makes them again, from a tree.

use super::{
    architecture, cable::Cable, cluster::Cluster, diagram, problems::Problems,
    submission_toml::Topology, topology::cables,
};
use crate::{result::RunResult, tree::documents};

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
