//! Tests of statements that contradict the evidence, and of gaps in the evidence.

use std::{fs, path::Path};

use super::{assert_told, build_in, change_result, change_settings, problems_of, text};
use crate::{fixture, record::RunResult};

/// Edits every run of a submission's folder.
fn every_run(folder: &Path, change: impl Fn(&mut RunResult)) {
    for scenario in ["offline", "server"] {
        for run in ["performance", "accuracy", "digests", "compliance/TEST01", "compliance/TEST04"]
        {
            change_result(&folder.join(scenario).join(run), &change);
        }
    }
}

#[test]
fn stated_values_do_not_contradict_the_machines_and_the_runs() {
    let wants = [
        "input_data_types is `fp32`, and the samples of its runs were image uint8",
        "submission.toml: [system] host_processor_model_name is `Intel Xeon Platinum`, and the runs and links have `AMD EPYC",
        "host_processors_per_node is `4`, and the runs and links have `2`: remove the key",
        "host_processor_core_count is `192`, and",
        "accelerators_per_node is `8`, and",
        "network_rate is `400 Gb/s`, and the runs and links have `100 Gb/s`",
        "network_media is `fiber`, and the runs and links have `copper DAC`",
    ];
    let all = assert_told(&wants, |folder| {
        change_settings(
            folder,
            "cooling = \"air\"",
            "cooling = \"air\"\naccelerators_per_node = 8\nhost_processors_per_node = \"4\"\n\
             host_processor_core_count = \"192\"\nhost_processor_model_name = \"Intel Xeon Platinum\"\n\
             network_rate = \"400 Gb/s\"\nnetwork_media = \"fiber\"",
        );
        change_settings(folder, "rate = \"100 Gb/s\"\nlength", "rate = \"100GbE\"\nlength");
        change_settings(folder, "input_data_types = \"uint8\"", "input_data_types = \"fp32\"");
    });
    assert_eq!(all.len(), wants.len(), "{all:#?}");
}

#[test]
fn switches_have_the_ports_that_links_use_and_a_speed() {
    let wants = [
        "[[topology.switch]] `leaf-1`: speed is `fast`; write a rate",
        "[[topology.link]] `leaf-1:33`: leaf-1 has 32 ports",
    ];
    let all = assert_told(&wants, |folder| {
        change_settings(folder, "\"leaf-1:3\"", "\"leaf-1:33\"");
        change_settings(folder, "speed = \"200 Gb/s\"", "speed = \"fast\"");
    });
    assert_eq!(all.len(), wants.len(), "{all:#?}");
}

#[test]
fn what_the_evidence_lacks_is_said_before_anybody_packs() {
    let lacking = |result: &mut RunResult| {
        let evidence = result.evidence.as_mut().unwrap();
        evidence.loadgen_node.memory_ecc = None;
        let node = evidence.nodes.get_mut("node-b").unwrap();
        node.interfaces[0].firmware = None;
        node.bios_version = None;
    };
    let wants = [
        "N22 (section 6.2.3): firmware of ens1f0np0 of node node-b not known",
        "N24 (section 6.2.3): node node-b: firmware (BIOS) not known",
        "N29 (section 4.1.1): the LoadGen node: whether ECC is on in its main memory is not known",
    ];
    let all = problems_of(|folder| every_run(folder, lacking));
    assert_eq!(all.len(), wants.len(), "{all:#?}");
    for (problem, want) in all.iter().zip(wants) {
        assert!(problem.starts_with(want), "{problem}");
        let end = "evidence file and run again (in offline/performance and 9 more)";
        assert!(problem.ends_with(end), "{problem}");
    }

    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "open", "v5.0");
    every_run(folder.path(), |result| {
        lacking(result);
        result.rehearsal = true;
    });
    change_settings(folder.path(), "status", "reason = \"To compare.\"\nstatus");
    let tree = build_in(folder.path(), false).unwrap();
    let why = text(&tree, "open/acme/documentation/why-open.md");
    for want in wants.into_iter().chain(["were rehearsals for another division", "server/digests"])
    {
        assert!(why.contains(want), "{want}: {why}");
    }
}

#[test]
fn runs_of_another_round_are_one_problem() {
    let all = problems_of(|folder| change_settings(folder, "round = \"v5.0\"", "round = \"v5.1\""));
    assert_eq!(
        all,
        [
            "round is v5.1, and the runs were made with LoadGen 5.0.11, which is of round v5.0; write round = \"v5.0\", or \
          build one for round v5.1 with `make LOADGEN=5.1.1` and run again"
        ]
    );
}

#[test]
fn a_retrained_result_and_its_table_belong_together() {
    let problems = |table: &str, retrained: bool| {
        let folder = tempfile::tempdir().unwrap();
        fixture::submission_folder(folder.path(), "open", "v5.0");
        change_settings(folder.path(), "status", "reason = \"Retrained.\"\nstatus");
        if retrained {
            change_settings(folder.path(), "fp16 conversion", "pruned\"\nretraining = \"Yes");
        }
        let path = folder.path().join("submission.toml");
        let settings = fs::read_to_string(&path).unwrap() + table;
        fs::write(&path, settings).unwrap();
        build_in(folder.path(), false).err().unwrap_or_default()
    };
    let table = "[retraining]\nretraining_data_fraction = 0.5\nretraining_epoch_fraction = 1\n\
                 non_zero_parameters = 9\nmodel_size_bytes = 18\nnumerics = \"fp16\"\nquantization = \"none\"\n";
    let table = &table.replace("fraction = 1\n", "fraction = 1.0\n");
    assert_eq!(problems(table, true), Vec::<String>::new());
    assert!(problems("", true)[0].contains("add [retraining]"));
    assert!(problems(table, false)[0].contains("write retraining = \"Yes\" in its [[result]]"));
    for wrong in ["0.0", "-0.5", "1.5", "nan"] {
        let all = problems(&table.replace("= 0.5", &format!("= {wrong}")), true);
        assert_eq!(
            all,
            ["[retraining] retraining_data_fraction: write a number above 0, and at most 1"]
        );
    }
}
