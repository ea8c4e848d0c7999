//! Run folders with one hostile file, for everything that reads runs, and for all rules.

use std::{fs, path::Path};

use netdiv_rules::{
    Scenario,
    book::{Table, Test},
    check::{Options, check},
    compliance::{Reference, baseline, verify},
    official_log::{DetailLog, latencies, metric, read_responses},
};

/// Files of a run of the demo, without the parts that no reader uses. Each begins with a byte that
/// [`run_folders`] strips.
const FILES: [(&str, &[u8]); 4] = [
    ("result.json", include_bytes!("../corpus/run_folders/result")),
    ("mlperf_log_detail.txt", include_bytes!("../corpus/run_folders/detail")),
    ("mlperf_log_summary.txt", include_bytes!("../corpus/run_folders/summary")),
    ("mlperf_log_accuracy.json", include_bytes!("../corpus/run_folders/accuracy")),
];

/// Reads a run folder; the first byte chooses the file that gets the other bytes.
pub(crate) fn run_folders(data: &[u8]) {
    let Some((which, content)) = data.split_first() else { return };
    let which = usize::from(*which) % FILES.len();
    let Ok(folder) = tempfile::tempdir() else { return };
    for (place, (name, file)) in FILES.iter().enumerate() {
        let content = if place == which { content } else { &file[1..] };
        let _ = fs::write(folder.path().join(name), content);
    }
    read(folder.path());
}

fn read(folder: &Path) {
    let Ok(table) = Table::builtin() else { return };
    let _ = check(folder, table, &Options::default());
    if let Ok(log) = DetailLog::read(&folder.join(FILES[1].0)) {
        latencies(&log);
        for scenario in
            [Scenario::Offline, Scenario::Server, Scenario::SingleStream, Scenario::MultiStream]
        {
            metric(scenario, &log);
        }
    }
    let (summary, accuracy) = (folder.join(FILES[2].0), folder.join(FILES[3].0));
    let _ = read_responses(&accuracy);
    let _ = baseline(&accuracy, &accuracy);
    let reference = Reference { accuracy_log: &accuracy, summary: &summary };
    for name in ["resnet50", "llama2-70b-99"] {
        let Some(benchmark) = table.find(name) else { continue };
        for test in Test::ALL {
            let _ = verify(test, benchmark, &reference, folder);
        }
    }
}
