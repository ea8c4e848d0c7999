//! `loadgen-node audit` with official scripts: they verify TEST07 and TEST09, and score the runs of
//! TEST01. Stand-ins are called like the official scripts, which are not part of the repository.

use std::path::Path;

use e2e::{
    Folder, SutNode,
    process::{Ended, loadgen_node, transport},
    write_parts,
};

use crate::evaluation::bare_python;

const TABLE: &str = include_str!("../../loadgen-node/rules/src/book/table.toml");

/// Benchmarks in small, under names that select the official scripts. LoadGen knows neither model.
const BENCHMARKS: &str = r#"
[[benchmarks]]
name = "gpt-oss-120b"
loadgen_model = "made-up"
suite = "datacenter"
rounds = ["v6.1"]
area = "Language"
task = "Text Generation"
model = "none"
dataset = "made-up"
dataset_samples = 48
qsl_size = 48
form = "prompt"
vocabulary = 201088
quality = [{ metric = "exact_match", reference = 80 }]
token_latencies = "measured"
ttft_ms = 3000
tpot_ms = 80
scenarios = ["server", "offline"]
offline_samples = 48
inputs = [["token ids"]]
input_types = ["int32"]
accuracy_dtype = "int32"
parameters = { max_new_tokens = "64" }
bandwidth = [{ name = "made-up", formula = "", rules_ingress = "", rules_egress = "", ingress = [{ elements = 64, data_type = "int32" }] }]
compliance = ["TEST07", "TEST09"]
test07 = { samples = 20, least = 60.5 }
test09 = { least = 7, most = 9 }

[[benchmarks]]
name = "whisper"
loadgen_model = "made-up-too"
suite = "datacenter"
rounds = ["v6.1"]
area = "Audio"
task = "Speech to Text"
model = "none"
dataset = "made-up"
dataset_samples = 16
qsl_size = 16
quality = [{ metric = "ACCURACY", reference = 97 }]
scenarios = ["offline"]
offline_samples = 16
inputs = [["sound"]]
input_types = ["uint8"]
accuracy_dtype = "int8"
bandwidth = [{ name = "made-up", formula = "", rules_ingress = "", rules_egress = "" }]
compliance = ["TEST01"]
sampling = 64
"#;

/// Runs the accuracy script by a shell in the current folder, and exits with 0 whatever the outcome.
const TEST07: &str = r#"
import argparse, os, re, shutil, subprocess
parser = argparse.ArgumentParser()
parser.add_argument("-c", required=True)
parser.add_argument("-o", required=True)
for option in "--audit-config", "--accuracy-script":
    parser.add_argument(option, required=True)
args = parser.parse_args()
threshold = float(re.search("test07_accuracy_threshold = ([0-9.]+)", open(args.audit_config).read())[1])
command = args.accuracy_script.format(accuracy_log=os.path.join(args.c, "mlperf_log_accuracy.json"))
text = subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
score = re.search(r"'exact_match':\s*([\d.]+)", text)
with open("verify_accuracy.txt", "w") as file:
    file.write(text)
    if score:
        file.write(f"Accuracy score: {score[1]}\nAccuracy threshold: {threshold}\n")
        file.write("TEST PASS\n" if float(score[1]) >= threshold else "TEST FAIL\n")
    else:
        file.write("Error: Could not parse accuracy score\nTEST FAIL\n")
os.makedirs(os.path.join(args.o, "TEST07"))
shutil.copy2("verify_accuracy.txt", os.path.join(args.o, "TEST07"))
"#;

/// Compares the mean number of tokens with the bounds in audit.config.
const TEST09: &str = r#"
import argparse, json, os, re, sys
parser = argparse.ArgumentParser()
parser.add_argument("-c", required=True)
parser.add_argument("-o", required=True)
parser.add_argument("--audit-config", required=True)
args = parser.parse_args()
config = open(args.audit_config).read()
least, most = (float(re.search(f"test09_{end}_output_tokens = ([0-9.]+)", config)[1]) for end in ("min", "max"))
log = json.load(open(os.path.join(args.c, "mlperf_log_accuracy.json")))
mean = sum(len(entry["data"]) // 8 for entry in log) / len(log)
passed = least <= mean <= most
with open("verify_output_len.txt", "w") as file:
    file.write(f"Total samples: {len(log)}\nMean output tokens: {mean:.2f}\n")
    file.write(f"Min threshold: {least}\nMax threshold: {most}\n{'TEST PASS' if passed else 'TEST FAIL'}\n")
sys.exit(0 if passed else 1)
"#;

/// Reads its score in the reference data.
const GPT_OSS: &str = r#"
import json, sys
options = dict(word.split("=", 1) for word in sys.argv[1:-2]) | {sys.argv[-2]: sys.argv[-1]}
print(f"Total samples evaluated: {len(json.load(open(options['--mlperf-log'])))}")
print(f"'exact_match': {float(open(options['--reference-data']).read())}")
"#;

/// Reads the score of each folder with a log in the manifest.
const WHISPER: &str = r#"
import json, os, sys
manifest = json.load(open(sys.argv[1].split("=", 1)[1]))
folder = sys.argv[sys.argv.index("--log_dir") + 1]
log = json.load(open(os.path.join(folder, "mlperf_log_accuracy.json")))
assert log and set(entry["qsl_idx"] for entry in log) <= set(range(16))
print(f"Word Error Rate: 1%, accuracy={manifest[os.path.basename(folder)]}%")
"#;

/// Bounds that any machine meets, and a few samples.
const SETTINGS: [&str; 7] = [
    "use_token_latencies=true",
    "server_ttft_latency=60000000000",
    "server_tpot_latency=60000000000",
    "server_target_qps=200",
    "offline_expected_qps=200",
    "min_duration_ms=0",
    "min_query_count=10",
];

struct AuditedRuns {
    folder: Folder,
    table: String,
    node: SutNode,
    benchmark: &'static str,
}

impl AuditedRuns {
    fn new(benchmark: &'static str, node: SutNode) -> Self {
        let folder = Folder::create();
        let (rounds, _) = TABLE.split_once("[[benchmarks]]").expect("benchmarks");
        let table = folder.write("table.toml", format!("{rounds}{BENCHMARKS}"));
        for (file, text) in [
            ("compliance/TEST07/run_verification.py", TEST07),
            (
                "compliance/TEST07/gpt-oss-120b/audit.config",
                "*.*.test07_accuracy_threshold = 60.5\n",
            ),
            ("compliance/TEST09/run_verification.py", TEST09),
            ("language/gpt-oss-120b/eval_mlperf_accuracy.py", GPT_OSS),
            ("speech2text/accuracy_eval.py", WHISPER),
        ] {
            folder.write(&format!("inference/{file}"), text);
        }
        let runs = Self { folder, table, node, benchmark };
        runs.bound_outputs("7", "9");
        runs
    }

    /// Writes the official bounds of TEST09.
    fn bound_outputs(&self, least: &str, most: &str) {
        let text = format!(
            "*.*.test09_min_output_tokens = {least}\n*.*.test09_max_output_tokens = {most}\n"
        );
        self.folder.write("inference/compliance/TEST09/gpt-oss-120b/audit.config", text);
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }

    fn run(&self, scenario: &str, mode: &str, data: &[&str], settings: &[&str]) {
        let output = self.path(&format!("{scenario}/{mode}"));
        let settings: Vec<_> = settings.iter().flat_map(|one| ["--setting", *one]).collect();
        let common = ["run", "--nodes", &self.node.address, "--transport", transport()];
        let what = ["--benchmarks", &self.table, "--benchmark", self.benchmark, "--dataset"];
        let places = ["--scenario", scenario, "--mode", mode, "--output", &output];
        let ended = loadgen_node(&[&common[..], &what, data, &places, &settings].concat());
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    }

    /// Runs `audit` into the folder `output`.
    fn audit(&self, scenario: &str, output: &str, args: &[&str]) -> Ended {
        let [performance, accuracy] =
            ["performance", "accuracy"].map(|mode| self.path(&format!("{scenario}/{mode}")));
        let output = self.path(output);
        let runs = ["--performance", &performance, "--accuracy", &accuracy, "--output", &output];
        let table = ["audit", "--benchmarks", &self.table];
        loadgen_node(&[&table[..], &runs, args].concat())
    }
}

#[test]
fn official_scripts_verify_test07_and_test09() {
    let runs = AuditedRuns::new(
        "gpt-oss-120b",
        SutNode::start("a", &["--engine", "tokens", "--tokens-output", "7-9"]),
    );
    let python = bare_python(&runs.folder);
    let reference = runs.path("inference");
    // Words that neither a shell nor Python's format must read.
    let data = runs.folder.write("it's {0}.parquet", "63.7");
    let given = ["--reference", &reference, "--python", &python];
    let option = format!("--script-option=--reference-data={data}");
    // `submit.sh` gives the data of the accuracy run before those of TEST07.
    let earlier = "--script-option=--reference-data=nowhere";
    let whole =
        [&given[..], &[earlier, option.as_str(), "--script-option=--tokenizer=none"]].concat();
    let own = ["--", "--dataset", "synthetic-ids:20x4-16@7"];
    let (of_07, of_09) = (["--tests", "TEST07"], ["--tests", "TEST09"]);
    let prompts = |count: i32| (1..=count).map(|id| vec![id; 4]).collect::<Vec<_>>();
    let two = [("performance", prompts(48), 9), ("accuracy", prompts(48), 9)];
    let of_two = write_parts(runs.folder.root(), "gpt-oss", &two);
    let three = [&two[..], &[("TEST07", prompts(20), 9)]].concat();
    let of_three = write_parts(runs.folder.root(), "gpt-oss-120b", &three);
    let part = ["--dataset-part", "performance"];
    for (scenario, data, own) in [
        ("offline", &["synthetic-ids:48x4-16"][..], &own[..]),
        ("server", &[of_three.as_str()], &[]),
    ] {
        runs.run(scenario, "accuracy", data, &SETTINGS);
        let part = if own.is_empty() { &part[..] } else { &[] };
        runs.run(scenario, "performance", &[data, part].concat(), &SETTINGS);
        let output = format!("{scenario}/compliance");
        let said = runs
            .audit(scenario, &output, &[&of_07[..], &whole, own].concat())
            .expect_text(0, "TEST07: pass")
            .expect_text(0, "Accuracy score: 63.7")
            .said();
        for words in [
            "performance_sample_count_override = 20: with the number of the performance run",
            "eval_mlperf_accuracy.py runs programs that the model wrote",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let record = runs.folder.json(&format!("{output}/TEST07/result.json"));
        assert_eq!(record["settings"]["performance_samples"], 20, "{record:#}");
        let text = runs.folder.read(&format!("{output}/TEST07/verify_accuracy.txt"));
        assert!(text.starts_with("Total samples evaluated: 20\n"), "{text}");
        assert!(!Path::new(&runs.path(&format!("{output}/TEST07/verification"))).exists());
        // It needs no environment with the accuracy script's packages.
        runs.audit(scenario, &output, &[&of_09[..], &given[..2]].concat())
            .expect_text(0, "TEST09: pass")
            .expect_text(0, "Total samples: 48");
        let text = runs.folder.read(&format!("{output}/TEST09/verify_output_len.txt"));
        assert!(text.ends_with("Min threshold: 7.0\nMax threshold: 9.0\nTEST PASS\n"), "{text}");
    }

    // Another data set, with parts in place of one without, and the reverse.
    let of_parts = ["--", "--dataset", &of_three];
    for (scenario, data) in [("offline", of_parts), ("server", own)] {
        let args = [&of_07[..], &whole, &data].concat();
        runs.audit(scenario, &format!("{scenario}/other"), &args).expect_text(0, "TEST07: pass");
    }

    // With fewer samples, for practice, it runs and fails.
    let few = ["--", "--dataset", "synthetic-ids:5x4-16"];
    let few = [&of_07[..], &whole, &few].concat();
    runs.audit("offline", "few", &few).expect_text(2, "give --performance-samples 5 (audit: after");
    runs.audit("offline", "fewer", &[&few[..], &["--performance-samples", "5"]].concat())
        .expect_text(1, "LoadGen issued 5 samples of a data set of 5, and TEST07 issues 20 of 20");

    // What is missing is reported before any run.
    let lacking = format!("{of_two} has no part TEST07: add --tests TEST07 -- --dataset FILE");
    let nowhere = ["--script-option=--reference-data=nowhere", "--script-option=--tokenizer=none"];
    let made = write_parts(runs.folder.root(), "made", &three);
    let manifest = "made-TEST07.ids.manifest.json";
    let mut text = runs.folder.json(manifest);
    text["sources"] = serde_json::json!({"gpqa.parquet": "00"});
    runs.folder.write(manifest, text.to_string());
    let empty = ["--reference", &runs.path("offline"), "--python", &python].map(str::to_owned);
    let empty = empty.each_ref().map(String::as_str);
    for (args, want) in [
        (&[][..], "official scripts verify TEST07 of gpt-oss-120b: add --reference DIR"),
        (&empty, "it has no compliance/TEST07/run_verification.py; give a checkout"),
        (
            &given,
            "add each as --script-option=OPTION=VALUE: --reference-data FILE --tokenizer CHECKPOINT",
        ),
        (&[&given[..], &nowhere].concat(), "--reference-data nowhere: there is no such file"),
        (&whole, "own data set of 20 samples, and synthetic-ids:48x4-16 has no part TEST07: add"),
        (&[&whole[..], &["--", "--dataset", &of_two]].concat(), &lacking),
        (&[&whole[..], &["--", "--dataset", &made]].concat(), "was made of gpqa.parquet, which"),
        (
            &[&whole[..], &["--script-option=--save-outputs=x"]].concat(),
            "--save-outputs: language/",
        ),
    ] {
        runs.audit("offline", "refused", args).expect_text(2, want);
        assert!(!Path::new(&runs.path("refused")).exists(), "{want}");
    }

    // A score below the threshold, no score, and a mean outside the bounds.
    let test07 = [&of_07[..], &whole, &own].concat();
    runs.folder.write("it's {0}.parquet", "12.5");
    runs.audit("offline", "low", &test07)
        .expect_text(1, "verify_accuracy.txt does not say TEST PASS");
    runs.folder.write("it's {0}.parquet", "none");
    runs.audit("offline", "none", &test07).expect_text(3, "did not judge every answer");
    assert!(!Path::new(&runs.path("none/TEST07/verify_accuracy.txt")).exists());
    let test09 = [&of_09[..], &whole].concat();
    runs.bound_outputs("1", "2");
    runs.audit("offline", "long", &test09)
        .expect_text(1, "verify_output_len.txt does not say TEST PASS")
        .expect_text(1, "has 1.0 for Min threshold, and TEST09 of gpt-oss-120b has 7");
}

#[test]
fn scores_of_both_runs_decide_test01_where_responses_differ() {
    let runs = AuditedRuns::new("whisper", SutNode::echo("a", &["--echo-answer-bytes", "4"]));
    let python = bare_python(&runs.folder);
    let settings = ["offline_expected_qps=1000", "min_duration_ms=0", "min_query_count=256"];
    runs.run("offline", "performance", &["synthetic:16x8"], &settings);
    // Other samples, and so other responses.
    runs.run("offline", "accuracy", &["synthetic:16x8@7"], &settings);
    runs.audit("offline", "alone", &[]).expect_text(1, "repeat TEST01 with --reference");
    let manifest = runs.path("manifest.json");
    let option = format!("--script-option=--manifest={manifest}");
    let reference = runs.path("inference");
    let given = ["--reference", &reference, "--python", &python, &option];
    for (own, verdict) in [(97.0, "pass"), (96.0, "FAIL")] {
        runs.folder.write("manifest.json", format!("{{\"baseline\": 97.5, \"TEST01\": {own}}}"));
        let output = format!("scored-{own}");
        let said = runs.audit("offline", &output, &given).said();
        assert!(said.contains(&format!("  scores       {verdict}")), "{said}");
        assert!(said.contains(&format!("ACCURACY = {own}, baseline 97.5")), "{said}");
        for (file, score) in [("baseline", 97.5), ("compliance", own)] {
            let text = runs.folder.read(&format!("{output}/TEST01/{file}_accuracy.txt"));
            assert!(text.contains(&format!("accuracy={score}")), "{text}");
        }
    }
}
