//! `loadgen-node accuracy`: a stand-in for an official script reads LoadGen's log, and its output
//! is kept; missing requirements are reported. The official scripts are not part of the repository;
//! docs/SUBMISSION.md states how they were tried.

use std::{
    fs,
    process::{Command, Stdio},
};

use e2e::{
    Folder, LoadGen, Outcome, SutNode,
    process::{Ended, command, model, send_signal},
};

/// Counts correct labels, and prints the count as accuracy-imagenet.py does.
const IMAGENET: &str = r#"
import argparse, json
import numpy
parser = argparse.ArgumentParser()
for option in "--mlperf-accuracy-file", "--imagenet-val-file", "--dtype":
    parser.add_argument(option, required=True)
args = parser.parse_args()
labels = [int(line.split()[1]) for line in open(args.imagenet_val_file)]
answers = {one["qsl_idx"]: int(numpy.frombuffer(bytes.fromhex(one["data"]), args.dtype)[0])
           for one in json.load(open(args.mlperf_accuracy_file))}
good = sum(labels[sample] == answer for sample, answer in answers.items())
print(f"accuracy={100 * good / len(answers):.3f}%, good={good}, total={len(answers)}")
"#;

/// Prints a line for each detection and then the metric, as accuracy-openimages.py does.
const OPENIMAGES: &str = r#"
import sys
assert "--openimages-dir=pictures" in sys.argv and "--output-file" in sys.argv
print("ERROR: loadgen(1) and payload(0) disagree on image_idx")
print("mAP=38.000%")
"#;

/// Defines the functions of eval_accuracy.py that judge answers. In a folder `lost` it loses an
/// answer, and counts it as wrong.
const DEEPSEEK: &str = r#"
import sys
def evaluate_math500(parsed, ground_truth): return parsed == ground_truth
def load_lcb_benchmark():
    import lcb_runner
    return {"1": lcb_runner}
def evaluate_livecodebench(code, question_id): return False
if __name__ == "__main__":
    assert "--dataset-file=answers.pkl" in sys.argv and "--output-file" in sys.argv
    print("INFO - aime results: 1/2 correct", file=sys.stderr)
    if "/lost/" in __file__:
        print("2026-11-24 - ERROR - Error evaluating row 1: the process ended", file=sys.stderr)
    print({"exact_match": 81.5, "tokens_per_sample": 3886.25, "num-samples": 2})
"#;

/// Runs programs as evaluate_mbxp.py does, with a module that no package index has.
const MBXP: &str = r#"
from mxeval.execution import check
for language in "cpp", "javascript", "php", "python", "ruby", "typescript":
    globals()["check_correctness_" + language] = check
"#;

/// Runs all programs except those in Ruby.
const MXEVAL: &str = r#"
def check(problem, completion, timeout):
    return {"passed": problem["task_id"] != "ruby", "result": "No such file or directory: 'ruby'"}
"#;

/// Reads the log that its options name, as eval_mlperf_accuracy.py does.
const GPT_OSS: &str = r#"
import json, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print(f"Total samples evaluated: {len(json.load(open(options['--mlperf-log'])))}")
assert options["--tokenizer"] == "gpt-oss-120b"
print("\n\nPrinting for submission_checker:\n\n'exact_match': 83.565")
"#;

/// Judges programs as eval_accuracy.py of gpt-oss-120b does: it hides the errors of the runner.
const RUNNER: &str = r#"
def load_lcb_benchmark(): return {"1": None}
def evaluate_livecodebench_detailed(code, question_id):
    try:
        import lcb_runner
        return False, "Failed one or more test cases"
    except ImportError as error:
        return False, f"Evaluation error: {type(error).__name__}: {error}"
"#;

/// Reads the log in the folder that its options name, as accuracy_eval.py does.
const WHISPER: &str = r#"
import json, os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert options["--output_dtype"] == "int8" and "--dataset_dir" in options
assert "MAX_DURATION" not in os.environ
json.load(open(os.path.join(options["--log_dir"], "mlperf_log_accuracy.json")))
print("Word Error Rate: 2.164954%, accuracy=97.835046%")
"#;

/// Creates a checkout with scripts of these texts in a folder.
fn reference(folder: &Folder, imagenet: &str) -> String {
    let tools = "inference/vision/classification_and_detection/tools";
    folder.write(&format!("{tools}/accuracy-imagenet.py"), imagenet);
    folder.write(&format!("{tools}/accuracy-openimages.py"), OPENIMAGES);
    folder.path("inference")
}

/// Makes an accuracy run of the small ResNet50 or RetinaNet.
fn accuracy_run(name: &str, args: &[&str]) -> Outcome {
    let manifest = model(&format!("{name}.toml"));
    let node = SutNode::start("a", &["--engine", "torch", "--model", &manifest]);
    let samples = model(&format!("{name}-uint8.npy"));
    LoadGen::new(&[&node.address], "offline")
        .data(name, &samples)
        .accuracy()
        .args(args)
        .run()
        .expect(0)
}

/// Creates a virtual environment without packages.
pub(crate) fn bare_python(folder: &Folder) -> String {
    let python = folder.path("python");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip", &python]).status();
    assert!(made.expect("python3 starts").success());
    python
}

/// Runs `loadgen-node accuracy`. The folder has the cache, and Python modules.
fn evaluate(args: &[&str], folder: &Folder) -> Ended {
    let mut command = command("loadgen-node");
    command.env("XDG_CACHE_HOME", folder.root()).env("PYTHONPATH", folder.root());
    // Some scripts would leave samples out.
    command.env("MAX_DURATION", "1");
    Ended::of(command.arg("accuracy").args(args))
}

fn evaluate_run(run: &Outcome, args: &[&str], folder: &Folder) -> Ended {
    let run = run.path("").display().to_string();
    evaluate(&[&[run.as_str()], args].concat(), folder)
}

#[test]
fn what_the_script_finds_is_what_the_run_counted_and_stands_beside_the_log() {
    let folder = Folder::create();
    let reference = reference(&folder, IMAGENET);
    let outcome = accuracy_run("resnet50", &["--labels", &model("resnet50-answers.npy")]);
    // Only the first evaluation fetches packages.
    for fetched in [true, false] {
        let ended = evaluate_run(&outcome, &["--reference", &reference], &folder);
        let said = ended.expect_text(0, "accuracy.txt\n  acc 100").said();
        assert_eq!(said.contains("fetching Python packages"), fetched, "{said}");
    }
    let (result, text) = (outcome.result(), outcome.read("accuracy.txt"));
    let counted =
        format!("good={}, total={}\n", result["accuracy"]["correct"], result["accuracy"]["total"]);
    assert!(text.starts_with("accuracy=100.000%, ") && text.contains(&counted), "{text}");
    let hash = result["logs"]["mlperf_log_accuracy.json"].as_str().expect("a digest");
    assert!(text.ends_with(&format!("\nhash={hash}\n")), "{text}");
}

#[test]
fn what_is_missing_is_said_before_the_script_starts_and_nothing_is_left_by_one_that_fails() {
    let folder = Folder::create();
    let reference = reference(&folder, "import sys; print('half a line'); sys.exit(7)");
    let labels = model("resnet50-answers.npy");
    let [labelled, bare, boxes] = [
        accuracy_run("resnet50", &["--labels", &labels]),
        accuracy_run("resnet50", &[]),
        accuracy_run("retinanet", &[]),
    ];
    let python = bare_python(&folder);
    let python = ["--python", &python];
    let try_it = |run: &Outcome, args: &[&str], code, want: &str| {
        let accuracy = run.path("accuracy.txt");
        // Output of an earlier evaluation.
        if code == 3 {
            fs::write(&accuracy, "accuracy=99.9%, good=8, total=8\n").expect("a writable path");
        }
        evaluate_run(run, args, &folder).expect_text(code, want);
        accuracy.exists()
    };
    let given = ["--reference", &reference];
    let nowhere = folder.path("");
    for (run, args, code, want) in [
        (&labelled, &["--reference", &nowhere][..], 2, "give a checkout of mlcommons/inference"),
        (&labelled, &[&given[..], &["--python", &nowhere]].concat(), 2, "it has no bin/python3"),
        (&labelled, &[&given[..], &python].concat(), 3, "exit status: 7"),
        (&labelled, &[&given[..], &python].concat(), 3, "half a line"),
        (
            &labelled,
            &[&given[..], &["--", "--dtype", "int64"]].concat(),
            2,
            "takes no options from you",
        ),
        (&bare, &given, 2, "make the accuracy run with --labels"),
        (&boxes, &given, 2, "add: -- --openimages-dir DIR"),
    ] {
        assert!(!try_it(run, args, code, want), "{args:?} has left an accuracy.txt");
    }
    // Checks before a run exists.
    for (options, code) in [(&[][..], 2), (&["--", "--openimages-dir", "pictures"], 0)] {
        let check = [&["--check", "--benchmark", "retinanet"], &given[..], options].concat();
        evaluate(&check, &folder).expect(code);
    }
    let whole = [&given[..], &python, &["--", "--openimages-dir=pictures"]].concat();
    assert!(try_it(&boxes, &whole, 0, "mAP 38"));
    let text = boxes.read("accuracy.txt");
    assert!(text.starts_with("mAP=38.000%\n"), "{text}");
    let more = [&whole[..], &["--max-images", "1"]].concat();
    assert!(try_it(&boxes, &more, 2, "--max-images: vision/"));
    fs::write(boxes.path("mlperf_log_accuracy.json"), "[]").expect("a writable path");
    assert!(try_it(&boxes, &whole, 2, "is not what LoadGen wrote in this run"));
}

#[test]
fn what_a_script_needs_beside_its_packages_is_named_before_there_is_a_run() {
    let folder = Folder::create();
    let (checkout, python) = (folder.path("inference"), bare_python(&folder));
    folder.write("inference/language/deepseek-r1/eval_accuracy.py", DEEPSEEK);
    folder.write("inference/language/mixtral-8x7b/evaluate-accuracy.py", "");
    folder.write("inference/language/mixtral-8x7b/evaluate_mbxp.py", MBXP);
    let check = |benchmark: &str, options: &[&str], code, want: &[&str]| {
        let check = ["--check", "--benchmark", benchmark, "--python", &python];
        let args = [&check[..], &["--reference", &checkout, "--"], options].concat();
        let ended = evaluate(&args, &folder).expect(code);
        want.iter().fold(ended, |ended, want| ended.expect_text(code, want));
    };
    let data = ["--dataset-file", "answers.pkl"];
    let submodules = "inference/language/deepseek-r1/submodules";
    fs::create_dir_all(folder.path(&format!("{submodules}/LiveCodeBench"))).expect("writable");
    let fetch = "submodule update --init language/deepseek-r1/submodules";
    check("deepseek-r1", &data, 2, &["LiveCodeBench: it is empty", fetch]);
    folder.write(&format!("{submodules}/LiveCodeBench/README.md"), "");
    check("deepseek-r1", &data, 2, &["prm800k: it is empty", fetch]);
    folder.write(&format!("{submodules}/prm800k/README.md"), "");
    let module = "would count answers as wrong: ModuleNotFoundError: No module named 'lcb_runner'; it needs its submodules";
    check("deepseek-r1", &data, 2, &[module]);
    folder.write("inference/language/gpt-oss-120b/eval_mlperf_accuracy.py", "");
    folder.write("inference/language/gpt-oss-120b/eval_accuracy.py", RUNNER);
    let of_gpt_oss = ["--reference-data=acc.parquet", "--tokenizer=gpt-oss-120b"];
    let module = "as wrong: Evaluation error: ModuleNotFoundError: No module named 'lcb_runner'; it needs its submodule";
    check("gpt-oss-120b", &of_gpt_oss, 2, &[module]);
    folder.write("lcb_runner.py", "");
    check("deepseek-r1", &data, 0, &[]);
    check("gpt-oss-120b", &of_gpt_oss, 0, &[]);

    let data = [&data[..], &["--checkpoint-path", "mixtral"]].concat();
    check("mixtral-8x7b", &data, 2, &["No module named 'mxeval'; it needs a clone"]);
    folder.write("mxeval/execution.py", MXEVAL);
    check("mixtral-8x7b", &data, 2, &["mxeval cannot run ruby: No such file or directory: 'ruby'"]);
    let without_ruby = MXEVAL.replace("'ruby'}", "'none'}").replace("\"ruby\"", "\"none\"");
    folder.write("mxeval/execution.py", without_ruby);
    check("mixtral-8x7b", &data, 0, &[]);
}

#[test]
fn a_script_that_did_not_judge_every_answer_leaves_no_figures() {
    let node = SutNode::start("a", &["--engine", "decoder", "--model", "sorting"]);
    let run = LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "sorting"])
        .accuracy()
        .run()
        .expect(0);
    // The linked LoadGen release may not know the benchmark.
    let record = run.read("result.json").replace("\"sorting\"", "\"deepseek-r1\"");
    fs::write(run.path("result.json"), record).expect("a writable path");
    let folder = Folder::create();
    folder.write("lcb_runner.py", "");
    let python = bare_python(&folder);
    for (checkout, code, want) in [
        ("lost", 3, "it did not judge every answer (Error evaluating row 1: the process ended);"),
        ("whole", 0, "exact_match 81.5\n  TOKENS_PER_SAMPLE 3886.25"),
    ] {
        let deepseek = format!("{checkout}/language/deepseek-r1");
        folder.write(&format!("{deepseek}/eval_accuracy.py"), DEEPSEEK);
        for submodule in ["LiveCodeBench", "prm800k"] {
            folder.write(&format!("{deepseek}/submodules/{submodule}/README.md"), "");
        }
        let reference = folder.path(checkout);
        let args = ["--python", &python, "--reference", &reference, "--"];
        let args = [&args[..], &["--dataset-file=answers.pkl"]].concat();
        // The script's output is printed, too.
        evaluate_run(&run, &args, &folder)
            .expect_text(code, want)
            .expect_text(code, "runs programs that the model wrote, with the rights of this user")
            .expect_text(code, "INFO - aime results");
        assert_eq!(run.path("accuracy.txt").exists(), code == 0, "{want}");
    }
}

#[test]
fn scripts_of_later_rounds_find_the_log_and_their_metrics_are_read() {
    let node = SutNode::start("a", &["--engine", "decoder", "--model", "sorting"]);
    let run = LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "sorting"])
        .accuracy()
        .run()
        .expect(0);
    let record = run.read("result.json");
    let folder = Folder::create();
    folder.write("lcb_runner.py", "");
    let python = bare_python(&folder);
    folder.write("inference/language/gpt-oss-120b/eval_mlperf_accuracy.py", GPT_OSS);
    folder.write("inference/language/gpt-oss-120b/eval_accuracy.py", RUNNER);
    folder.write("inference/language/deepseek-r1/submodules/LiveCodeBench/README.md", "");
    folder.write("inference/speech2text/accuracy_eval.py", WHISPER);
    let reference = folder.path("inference");
    for (benchmark, options, want) in [
        (
            "gpt-oss-120b",
            &["--reference-data", "acc.parquet", "--tokenizer", "gpt-oss-120b"][..],
            "exact_match 83.565",
        ),
        ("whisper", &["--manifest", "dev-all-repack.json"], "ACCURACY 97.835046"),
    ] {
        // The linked LoadGen release may not know the benchmark.
        let named = record.replace("\"sorting\"", &format!("\"{benchmark}\""));
        fs::write(run.path("result.json"), named).expect("a writable path");
        let args = ["--python", &python, "--reference", &reference, "--"];
        evaluate_run(&run, &[&args[..], options].concat(), &folder).expect_text(0, want);
        assert!(run.read("accuracy.txt").contains("\nhash="), "{benchmark}");
    }
}

#[test]
fn a_script_and_what_it_has_started_end_with_the_command_that_a_signal_ends() {
    let folder = Folder::create();
    let here = folder.path("pid");
    // A child process of the script holds its output open.
    let script = format!(
        "import os, subprocess\nchild = subprocess.Popen(['sleep', '600'])\n\
         open({here:?}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\nchild.wait()"
    );
    let reference = reference(&folder, &script);
    let run = accuracy_run("resnet50", &["--labels", &model("resnet50-answers.npy")]);
    let python = bare_python(&folder);
    let mut command = command("loadgen-node");
    command.arg("accuracy").arg(run.path(""));
    command.args(["--reference", &reference, "--python", &python]);
    let mut child = command.stderr(Stdio::null()).spawn().expect("loadgen-node starts");
    let script = || fs::read_to_string(&here).ok().filter(|pids| !pids.is_empty());
    e2e::process::wait_until("the script has begun", || script().is_some());
    send_signal(child.id(), "-TERM");
    assert_eq!(child.wait().expect("a writable path").code(), Some(3));
    script().expect("their numbers").split(' ').for_each(wait_until_gone);
}

fn wait_until_gone(pid: &str) {
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat"));
    let is_gone = || stat().map_or(true, |stat| stat.contains(") Z "));
    e2e::process::wait_until("the script's child is gone", is_gone);
}

#[test]
fn what_a_script_leaves_behind_neither_holds_the_command_nor_goes_on() {
    let folder = Folder::create();
    let here = folder.path("pid");
    let script = format!(
        "import subprocess
child = subprocess.Popen(['sleep', '600'])
\
         open({here:?}, 'w').write(str(child.pid))\nprint('accuracy=100.000%, good=8, total=8')"
    );
    let reference = reference(&folder, &script);
    let run = accuracy_run("resnet50", &["--labels", &model("resnet50-answers.npy")]);
    let python = bare_python(&folder);
    let args = ["--reference", &reference, "--python", &python];
    evaluate_run(&run, &args, &folder).expect(0);
    wait_until_gone(&fs::read_to_string(&here).expect("its number"));
}
