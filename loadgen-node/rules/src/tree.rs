//! Paths in a submission, for writing and reading trees.
//!
//! Two layouts exist. Rounds v5.0 and v5.1 have `measurements/`, `compliance/` and `code/` beside
//! `results/`. From v6.0 on, all files of a result are in its scenario's folder, and the code is in
//! `src/`. All paths are relative to the root of the tree and have `/` between their parts.

mod list;

use serde::{Deserialize, Serialize};

pub(crate) use list::{detect_layout, find_home};
pub use list::{list_files, list_homes, list_results};

/// Folders in the root of a tree, one for each division.
pub const DIVISIONS: [&str; 3] = ["closed", "network", "open"];

/// Name of LoadGen's detail log, which contains its settings, events and results.
pub const DETAIL: &str = "mlperf_log_detail.txt";
/// Name of LoadGen's summary of a run.
pub const SUMMARY: &str = "mlperf_log_summary.txt";
/// Name of LoadGen's accuracy log, which contains the responses.
pub const ACCURACY_LOG: &str = "mlperf_log_accuracy.json";
/// Name of the file with the output of the accuracy script and the hash of the complete accuracy
/// log.
pub const ACCURACY_TXT: &str = "accuracy.txt";
/// Names of the files with the scores that the official script computed for the samples of TEST01:
/// first of the accuracy run, then of the test. A benchmark that is not deterministic needs them.
pub const BASELINE_SCORES: [&str; 2] = ["baseline_accuracy.txt", "compliance_accuracy.txt"];
/// Name of the file in which TEST01, TEST06 and TEST07 report their verdict on the responses.
pub const VERIFY_ACCURACY: &str = "verify_accuracy.txt";
/// Name of the file in which TEST09 reports its verdict on the lengths of outputs.
pub const VERIFY_OUTPUT_LENGTH: &str = "verify_output_len.txt";
/// Name of the file in which TEST01 and TEST04 report their verdict on the speed.
pub const VERIFY_PERFORMANCE: &str = "verify_performance.txt";
/// End of the name of a system's nameplate, a YAML file with the rated power of the system's parts.
pub(crate) const NAMEPLATE: &str = "_power.yaml";
/// Name of the scenario folder of an interactive variant. Rounds with such a folder have it beside
/// the folder `Server`.
pub const INTERACTIVE: &str = "Interactive";
/// Name of this implementation: it names the folder of the sources, and is part of the name of the
/// measurements file.
pub const IMPLEMENTATION: &str = "netdiv";

/// Names of the files in a submission's folder `documentation`.
pub mod documents {
    /// Calibration of the quantization (rules, section 2.3).
    pub const CALIBRATION: &str = "calibration.md";
    /// Description of the wire protocol: the messages that are sent for each query (N17).
    pub const PROTOCOL: &str = "wire-protocol.md";
    /// System diagram with its text (N23).
    pub const DIAGRAM: &str = "system-diagram.md";
    /// NICs, the path from them to the accelerators, and the evidence of its bandwidth (N28).
    pub const ARCHITECTURE: &str = "system-architecture.md";
    /// Comparison of the NICs with Appendix B (N27).
    pub const BANDWIDTH: &str = "bandwidth.md";
    /// Approval of a compression scheme (N25).
    pub const COMPRESSION: &str = "compression.md";
    /// Reasons why a rehearsal must not be submitted.
    pub const REHEARSAL: &str = "REHEARSAL.md";
    /// Reasons why a submission is in the Open division (N38).
    pub const WHY_OPEN: &str = "why-open.md";
    /// Report on a retrained model (retraining rules, section 10).
    pub const RETRAINING: &str = "retraining.md";
    /// Settings from which the documents were drafted.
    pub const SETTINGS: &str = "submission.toml";
    /// Description of the power measurement.
    pub const POWER: &str = "power.md";
    /// Names of the documents that every submission to the Network division contains.
    pub const ALL: [&str; 5] = [CALIBRATION, PROTOCOL, DIAGRAM, ARCHITECTURE, BANDWIDTH];
}

/// Layout of the folders in a submission tree, which depends on the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Layout {
    /// Rounds v5.0 and v5.1.
    A,
    /// From round v6.0 on.
    B,
}

impl Layout {
    /// Returns the name of the folder that contains all code in this layout.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::A => "code",
            Self::B => "src",
        }
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::A => "measurements/, compliance/ and code/ beside results/",
            Self::B => "all of a result in results/, and src/",
        })
    }
}

/// Folder of a submitter's submission to one division. The methods return the paths of files and
/// folders in it, relative to the root of the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubmitterFolder {
    /// Layout of the folders.
    pub layout: Layout,
    /// Division: closed, network or open.
    pub division: String,
    /// Name of the submitter's folder.
    pub submitter: String,
    /// Name of the folder that contains all code. It may differ from the name in the layout.
    code: &'static str,
}

impl SubmitterFolder {
    /// Describes the folder of `submitter` in `division`, with the folder names of `layout`.
    pub fn new(layout: Layout, division: &str, submitter: &str) -> Self {
        let (division, submitter) = (division.to_owned(), submitter.to_owned());
        Self { layout, division, submitter, code: layout.code() }
    }

    /// Returns the path of the submitter's folder.
    pub fn root(&self) -> String {
        format!("{}/{}", self.division, self.submitter)
    }

    /// Returns the path of the description of a system.
    pub fn system_json(&self, system: &str) -> String {
        format!("{}/systems/{system}.json", self.root())
    }

    /// Returns the path of the nameplate of a system, from round v6.1 on.
    pub(crate) fn nameplate(&self, system: &str) -> String {
        format!("{}/systems/{system}{NAMEPLATE}", self.root())
    }

    /// Returns the path of the folder that contains all code.
    pub fn code(&self) -> String {
        format!("{}/{}", self.root(), self.code)
    }

    /// Returns the path of the folder with this program's sources (N16).
    pub fn sources(&self) -> String {
        format!("{}/{IMPLEMENTATION}", self.code())
    }

    /// Returns the path of `REVISION`, the file with the sources' SHA-256.
    pub fn revision(&self) -> String {
        format!("{}/REVISION", self.sources())
    }

    /// Returns the path of a document, such as [`documents::DIAGRAM`].
    pub fn document(&self, name: &str) -> String {
        format!("{}/documentation/{name}", self.root())
    }

    /// Returns the path of the evidence about a machine. `machine` is `loadgen` for the LoadGen
    /// node, or the name of a node.
    pub fn evidence(&self, machine: &str) -> String {
        self.document(&format!("evidence/{machine}.json"))
    }
}

/// Folders of a result: a benchmark and a scenario on a system. The methods return the paths of the
/// result's files, relative to the root of the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResultPaths {
    /// Folder of the submission that contains the result.
    pub home: SubmitterFolder,
    /// Name of the system's folder.
    pub system: String,
    /// Name of the benchmark's folder.
    pub benchmark: String,
    /// Name of the scenario's folder, in the spelling of the tree.
    pub scenario: String,
}

impl ResultPaths {
    fn under(&self, folder: &str) -> String {
        let Self { home, system, benchmark, scenario } = self;
        format!("{}/{folder}/{system}/{benchmark}/{scenario}", home.root())
    }

    /// Returns the path of the result's folder.
    pub fn results(&self) -> String {
        self.under("results")
    }

    /// Returns the path of the folder with the accuracy run.
    pub fn accuracy(&self) -> String {
        format!("{}/accuracy", self.results())
    }

    /// Returns the path of the folder with the performance run.
    pub fn performance(&self) -> String {
        format!("{}/performance/run_1", self.results())
    }

    /// Returns the path of the folder that contains user.conf, README.md, the measurements file and
    /// the records of the runs.
    pub fn measurements(&self) -> String {
        match self.home.layout {
            Layout::A => self.under("measurements"),
            Layout::B => self.results(),
        }
    }

    /// Returns the path of the measurements file that this program writes. In layout A, other
    /// programs may use another name for it.
    pub fn measurements_json(&self) -> String {
        let Self { system, scenario, .. } = self;
        let name = match self.home.layout {
            Layout::A => format!("{system}_{IMPLEMENTATION}_{scenario}.json"),
            Layout::B => "measurements.json".into(),
        };
        format!("{}/{name}", self.measurements())
    }

    /// Returns the path of user.conf, LoadGen's settings file.
    pub fn user_conf(&self) -> String {
        format!("{}/user.conf", self.measurements())
    }

    /// Returns the path of README.md, which lists the steps to reproduce the result.
    pub fn readme(&self) -> String {
        format!("{}/README.md", self.measurements())
    }

    /// Returns the path of a run's `result.json`. `run` is `performance`, `accuracy`, `digests`, or
    /// the name of a compliance test.
    pub fn record(&self, run: &str) -> String {
        format!("{}/{run}.result.json", self.measurements())
    }

    /// Returns the path of the folder of a compliance test, such as `TEST01`.
    pub fn compliance(&self, test: &str) -> String {
        match self.home.layout {
            Layout::A => format!("{}/{test}", self.under("compliance")),
            Layout::B => format!("{}/{test}", self.results()),
        }
    }

    /// Returns the path of the folder with a compliance test's responses.
    pub fn compliance_accuracy(&self, test: &str) -> String {
        format!("{}/accuracy", self.compliance(test))
    }

    /// Returns the path of the folder with a compliance test's performance logs.
    pub fn compliance_performance(&self, test: &str) -> String {
        format!("{}/performance/run_1", self.compliance(test))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use super::*;

    fn place(layout: Layout) -> ResultPaths {
        ResultPaths {
            home: SubmitterFolder::new(layout, "network", "acme"),
            system: "four-nodes".into(),
            benchmark: "resnet50".into(),
            scenario: "Offline".into(),
        }
    }

    #[test]
    fn paths_are_those_of_the_official_checkers() {
        let a = place(Layout::A);
        assert_eq!(
            a.measurements_json(),
            "network/acme/measurements/four-nodes/resnet50/Offline/four-nodes_netdiv_Offline.json"
        );
        assert_eq!(
            a.compliance_performance("TEST04"),
            "network/acme/compliance/four-nodes/resnet50/Offline/TEST04/performance/run_1"
        );
        assert_eq!(a.home.revision(), "network/acme/code/netdiv/REVISION");
        let b = place(Layout::B);
        let results = "network/acme/results/four-nodes/resnet50/Offline";
        assert_eq!(b.measurements_json(), format!("{results}/measurements.json"));
        assert_eq!(b.compliance_accuracy("TEST01"), format!("{results}/TEST01/accuracy"));
        assert_eq!(b.user_conf(), format!("{results}/user.conf"));
        assert_eq!(b.home.code(), "network/acme/src");
    }

    #[test]
    fn results_are_found_in_either_layout() {
        for layout in [Layout::A, Layout::B] {
            let root = tempfile::tempdir().unwrap();
            let place = place(layout);
            for folder in [place.performance(), place.measurements(), place.home.code()] {
                fs::create_dir_all(root.path().join(folder)).unwrap();
            }
            fs::write(root.path().join(place.performance()).join(SUMMARY), "x").unwrap();
            assert_eq!(list_homes(root.path()).unwrap(), std::slice::from_ref(&place.home));
            let results = list_results(root.path(), &place.home).unwrap();
            assert_eq!(results, std::slice::from_ref(&place));
            let summary = PathBuf::from(format!("{}/{SUMMARY}", place.performance()));
            assert_eq!(list_files(root.path()).unwrap(), [summary]);
        }
        assert!(list_homes(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn a_layout_shows_in_what_lies_there() {
        let shown = |paths: &[&str]| {
            let root = tempfile::tempdir().unwrap();
            for path in paths {
                fs::create_dir_all(root.path().join("closed/x").join(path)).unwrap();
            }
            let home = find_home(root.path(), "closed", "x", Layout::A);
            (detect_layout(&root.path().join("closed/x")), home.code())
        };
        let code = |name: &str| format!("closed/x/{name}");
        assert_eq!(shown(&["results/s/b/Offline/performance"]), (None, code("code")));
        assert_eq!(shown(&["measurements", "code"]), (Some(Layout::A), code("code")));
        assert_eq!(shown(&["compliance"]), (Some(Layout::A), code("code")));
        // A tree of round v6.0 may have its code in the folder of earlier rounds.
        let test = "results/s/b/Offline/TEST06";
        assert_eq!(shown(&[test, "code"]), (Some(Layout::B), code("code")));
        assert_eq!(shown(&[test, "src"]), (Some(Layout::B), code("src")));
        assert_eq!(shown(&["src", "code"]), (Some(Layout::B), code("src")));
        assert_eq!(shown(&["src", "measurements"]), (Some(Layout::A), code("src")));
    }
}
