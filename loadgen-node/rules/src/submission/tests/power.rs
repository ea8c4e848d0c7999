//! Tests of runs with measured power.

use std::{fs, path::Path};

use super::{assert_told, build_in, change_settings, keep};
use crate::{fixture, tree};

const FILES: [&str; 6] = [
    "power/client.json",
    "power/client.log",
    "power/ptd_logs.txt",
    "power/server.json",
    "power/server.log",
    "ranging/spl.txt",
];

/// Creates the files that the power client leaves for the Offline run.
fn measure(folder: &Path) {
    let client = folder.join("watts");
    for name in ["power", "ranging"] {
        fs::create_dir_all(client.join(name)).unwrap();
    }
    FILES.iter().for_each(|file| fs::write(client.join(file), file).unwrap());
    for log in [tree::DETAIL, tree::SUMMARY] {
        fs::copy(folder.join("offline/performance").join(log), client.join("ranging").join(log))
            .unwrap();
    }
    fs::rename(folder.join("offline/performance"), client.join("run_1")).unwrap();
    fs::write(client.join("run_1/spl.txt"), "Time,0,Watts,300\n").unwrap();
    let (from, to) = ("\"offline/performance\"", "\"watts/run_1\"\npower = \"watts\"");
    change_settings(folder, from, to);
    fs::write(folder.join("table.md"), "one analyzer").unwrap();
    fs::write(folder.join("settings.txt"), "balanced").unwrap();
    let path = folder.join("submission.toml");
    let text = fs::read_to_string(&path).unwrap()
        + "[power]\ntext = 'One analyzer.'\nanalyzer_table = 'table.md'\npower_settings = 'settings.txt'\n";
    fs::write(path, text).unwrap();
}

#[test]
fn a_measurement_lies_where_the_checker_looks() {
    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "network", "v5.0");
    measure(folder.path());
    let tree = build_in(folder.path(), false).unwrap();
    let has = |end: &str| tree.keys().any(|path| path.ends_with(end));
    for file in FILES {
        assert!(has(&format!("resnet50/Offline/performance/{file}")), "{file}");
    }
    assert!(
        has("Offline/performance/run_1/spl.txt")
            && has("performance/ranging/mlperf_log_detail.txt")
    );
    assert!(has("Offline/analyzer_table.md") && has("Offline/power_settings.txt"));
    assert!(has("documentation/power.md") && !has("Server/performance/run_1/spl.txt"));
}

#[test]
fn the_nameplate_of_round_v6_1_lies_beside_the_system() {
    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "network", "v6.1");
    measure(folder.path());
    let settings = "power_settings = 'settings.txt'\n";
    let written = format!("{settings}nameplate = 'plate.yaml'\n");
    change_settings(folder.path(), settings, &written);
    assert!(build_in(folder.path(), false).unwrap_err()[0].contains("plate.yaml"));
    fs::write(folder.path().join("plate.yaml"), "node:\n  PowerCapacityWatts: 700\n").unwrap();
    let tree = build_in(folder.path(), false).unwrap();
    let plate = &tree["network/acme/systems/two-H100-nodes_power.yaml"];
    assert!(plate.starts_with(b"node:"));
    keep(&tree, "v6.1-network-power");
}

#[test]
fn what_a_measurement_lacks_is_said_at_once() {
    let wants = [
        "other/power/server.log: power: No such file",
        "other/ranging/spl.txt: power: No such file",
        "other/run_1/mlperf_log_detail.txt: power: its log differs from that of watts/run_1",
        "table.md: analyzer_table: No such file",
        "[power] write power_settings",
    ];
    assert_told(&wants, |folder| {
        measure(folder);
        fs::remove_file(folder.join("watts/power/server.log")).unwrap();
        fs::write(folder.join("watts/run_1/spl.txt"), "").unwrap();
        fs::remove_file(folder.join("table.md")).unwrap();
        change_settings(folder, "power_settings = 'settings.txt'\n", "");
        change_settings(folder, "power = \"watts\"", "power = \"other\"");
        fs::rename(folder.join("watts/power"), folder.join("power")).unwrap();
        fs::create_dir(folder.join("other")).unwrap();
        fs::rename(folder.join("power"), folder.join("other/power")).unwrap();
    });
}
