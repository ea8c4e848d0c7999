//! Compares the verdicts of the official scripts of tag v5.0.1 with ours, over many inputs.
//!
//! With `NETDIV_WRITE_CASES=folder` the test writes each case to that folder in the form that the
//! scripts need, with our verdict and our files, so that the scripts can be run again.

mod inputs;
mod responses;
mod speed;
mod tokens;

use std::{fs, path::Path};

use super::{Reference, verify};
use crate::{
    book::{ElementType, Table, Test},
    tree::{ACCURACY_LOG, SUMMARY},
};

/// Verdict of netdiv on a case.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OurVerdict {
    Pass,
    Fail,
    /// Netdiv fails the run although the official script passes it.
    Stricter,
    Refused,
}
use OurVerdict::{Fail, Pass, Refused, Stricter};

/// Case of a compliance test: the text of each input file, empty if the file does not exist, and
/// both expected verdicts.
#[derive(Clone)]
struct ComplianceCase {
    test: Test,
    name: &'static str,
    benchmark: &'static str,
    dtype: &'static str,
    accuracy_log: String,
    reference: String,
    log: String,
    summary: String,
    /// True if the official script passes.
    official: bool,
    ours: OurVerdict,
}

impl ComplianceCase {
    /// Writes the case to `folder`: its input, the verdicts and our files. Returns our verdict and
    /// its reasons.
    fn run(&self, folder: &Path) -> (OurVerdict, String) {
        let (results, run) = (folder.join("results"), folder.join("run"));
        let accuracy_log = results.join("accuracy").join(ACCURACY_LOG);
        let summary = results.join("performance/run_1").join(SUMMARY);
        for (path, text) in [
            (&accuracy_log, &self.accuracy_log),
            (&summary, &self.reference),
            (&run.join(ACCURACY_LOG), &self.log),
            (&run.join(SUMMARY), &self.summary),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if !text.is_empty() {
                fs::write(path, text).unwrap();
            }
        }

        let mut benchmark = Table::builtin().unwrap().find(self.benchmark).unwrap().clone();
        benchmark.accuracy_dtype = ElementType::try_from(self.dtype.to_owned()).ok();
        let reference = Reference { accuracy_log: &accuracy_log, summary: &summary };
        let (ours, why) = match verify(self.test, &benchmark, &reference, &run) {
            Err(error) => {
                (Refused, error.problems().join("; ").replace(folder.to_str().unwrap(), ""))
            }
            Ok(verified) => {
                for (name, text) in &verified.files {
                    fs::write(folder.join(name), text).unwrap();
                }
                let parts: Vec<_> = verified.accuracy.iter().chain(&verified.performance).collect();
                let why =
                    parts.iter().flat_map(|part| [&part.problems[..], &part.stricter].concat());
                let why = why.collect::<Vec<_>>().join("; ");
                match (verified.passed, parts.iter().all(|part| part.passes_script())) {
                    (true, _) => (Pass, why),
                    (false, true) => (Stricter, why),
                    (false, false) => (Fail, why),
                }
            }
        };
        let official = if self.official { "pass" } else { "fail" };
        let row = format!("{official}\n{ours:?}\n{why}\n{}\n", self.dtype.replace("uint8", "byte"));
        fs::write(folder.join("verdicts"), row).unwrap();
        (ours, why)
    }
}

fn all() -> Vec<ComplianceCase> {
    [speed::test01(), speed::test04(), responses::cases(), tokens::cases()].concat()
}

#[test]
fn verdicts_are_those_of_the_official_scripts_or_stricter() {
    let scratch = tempfile::tempdir().unwrap();
    let asked = std::env::var_os("NETDIV_WRITE_CASES").map(std::path::PathBuf::from);
    let root = asked.as_deref().unwrap_or(scratch.path());
    for case in all() {
        let folder = root.join(case.test.name()).join(case.name.replace(' ', "-"));
        assert!(!folder.exists(), "two cases are called {}", case.name);
        let (ours, why) = case.run(&folder);
        assert_eq!(ours, case.ours, "{} {}: {why}", case.test, case.name);
        match ours {
            Pass | Stricter => assert!(case.official, "{} {}", case.test, case.name),
            Fail => assert!(!case.official, "{} {}", case.test, case.name),
            Refused => {}
        }
    }
}
