//! `loadgen-node accuracy`: a script in the official one's place reads LoadGen's log, and what it finds is kept; or it is said what
//! is missing. The official scripts themselves are not here; docs/SUBMISSION.md says how they were tried.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use e2e::{LoadGen, Outcome, SutNode, process::program};
use serde_json::Value;

/// Counts right labels, and prints them as accuracy-imagenet.py does.
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

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(name);
    path.to_str().expect("a path in UTF-8").into()
}

/// A checkout with scripts of these texts.
fn reference(folder: &Path, imagenet: &str) -> String {
    let tools = folder.join("vision/classification_and_detection/tools");
    fs::create_dir_all(&tools).expect("ours");
    fs::write(tools.join("accuracy-imagenet.py"), imagenet).expect("ours");
    fs::write(tools.join("accuracy-openimages.py"), OPENIMAGES).expect("ours");
    folder.to_str().expect("a path in UTF-8").into()
}

/// An accuracy run of the small ResNet50 or RetinaNet.
fn accuracy_run(name: &str, args: &[&str]) -> Outcome {
    let manifest = file(&format!("{name}.toml"));
    let node = SutNode::start("a", &["--engine", "torch", "--model", &manifest]);
    let samples = file(&format!("{name}-uint8.npy"));
    LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", name, "--mode", "accuracy", "--dataset", &samples])
        .args(args)
        .run()
        .expect(0)
}

fn evaluate(run: &Path, args: &[&str], cache: &Path) -> Output {
    let mut command = Command::new(program("loadgen-node"));
    command.arg("accuracy").arg(run).args(args).env("XDG_CACHE_HOME", cache).env_remove("RUST_LOG");
    command.output().expect("loadgen-node starts")
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn what_the_script_finds_is_what_the_run_counted_and_stands_beside_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let reference = reference(folder.path(), IMAGENET);
    let outcome = accuracy_run("resnet50", &["--labels", &file("resnet50-answers.npy")]);
    let run = outcome.path("");
    let args = ["--reference", &reference];
    // Packages are fetched for the first, and only for it.
    for fetched in [true, false] {
        let output = evaluate(&run, &args, folder.path());
        let said = words(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(said.contains("fetching Python packages"), fetched, "{said}");
        assert!(said.contains("accuracy.txt\n  acc 100"), "{said}");
    }
    let result: Value =
        serde_json::from_slice(&fs::read(run.join("result.json")).expect("a result"))
            .expect("JSON");
    let text = fs::read_to_string(run.join("accuracy.txt")).expect("the script's words");
    let counted =
        format!("good={}, total={}\n", result["accuracy"]["correct"], result["accuracy"]["total"]);
    assert!(text.starts_with("accuracy=100.000%, ") && text.contains(&counted), "{text}");
    let hash = result["logs"]["mlperf_log_accuracy.json"].as_str().expect("a digest");
    assert!(text.ends_with(&format!("\nhash={hash}\n")), "{text}");
}

#[test]
fn what_is_missing_is_said_before_the_script_starts_and_nothing_is_left_by_one_that_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let checkout = folder.path().join("inference");
    let reference = reference(&checkout, "import sys; print('half a line'); sys.exit(7)");
    let labels = file("resnet50-answers.npy");
    let [labelled, bare, boxes] = [
        accuracy_run("resnet50", &["--labels", &labels]),
        accuracy_run("resnet50", &[]),
        accuracy_run("retinanet", &[]),
    ];
    let python = folder.path().join("python").display().to_string();
    let made = Command::new("python3").args(["-m", "venv", "--without-pip", &python]).status();
    assert!(made.expect("python3 starts").success());
    let python = ["--python", &python];
    let try_it = |run: &Outcome, args: &[&str], code, want: &str| {
        let run = run.path("");
        // Of a call before.
        if code == 3 {
            fs::write(run.join("accuracy.txt"), "accuracy=99.9%, good=8, total=8\n").expect("ours");
        }
        let output = evaluate(&run, args, folder.path());
        let said = words(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(want), "{args:?}: {want} is not in: {said}");
        run.join("accuracy.txt").exists()
    };
    let given = ["--reference", &reference];
    let nowhere = folder.path().display().to_string();
    for (run, args, code, want) in [
        (&labelled, &["--reference", &nowhere][..], 2, "give a checkout of mlcommons/inference"),
        (&labelled, &[&given[..], &["--python", &nowhere]].concat(), 2, "it has no bin/python3"),
        (&labelled, &[&given[..], &python].concat(), 3, "exit status: 7"),
        (&labelled, &[&given[..], &python].concat(), 3, "half a line"),
        (
            &labelled,
            &[&given[..], &["--", "--dtype", "int64"]].concat(),
            2,
            "takes nothing from you",
        ),
        (&bare, &given, 2, "make the accuracy run with --labels"),
        (&boxes, &given, 2, "add: -- --openimages-dir DIR"),
    ] {
        assert!(!try_it(run, args, code, want), "{args:?} has left an accuracy.txt");
    }
    // Before there is a run.
    for (options, code) in [(&[][..], 2), (&["--", "--openimages-dir", "pictures"], 0)] {
        let check = [&["--check", "--benchmark", "retinanet"], &given[..], options].concat();
        let mut command = Command::new(program("loadgen-node"));
        let output = command.arg("accuracy").args(&check).output().expect("loadgen-node starts");
        assert_eq!(output.status.code(), Some(code), "{check:?}: {}", words(&output));
    }
    let whole = [&given[..], &python, &["--", "--openimages-dir=pictures"]].concat();
    assert!(try_it(&boxes, &whole, 0, "mAP 38"));
    let text = fs::read_to_string(boxes.path("accuracy.txt")).expect("the script's words");
    assert!(text.starts_with("mAP=38.000%\n"), "{text}");
    let more = [&whole[..], &["--max-images", "1"]].concat();
    assert!(try_it(&boxes, &more, 2, "--max-images: after --"));
    fs::write(boxes.path("mlperf_log_accuracy.json"), "[]").expect("ours");
    assert!(try_it(&boxes, &whole, 2, "is not what LoadGen wrote in this run"));
}

#[test]
fn a_script_ends_with_the_command_that_a_signal_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path().join("pid");
    let script =
        format!("import os, time; open({here:?}, 'w').write(str(os.getpid())); time.sleep(600)");
    let reference = reference(&folder.path().join("inference"), &script);
    let run = accuracy_run("resnet50", &["--labels", &file("resnet50-answers.npy")]);
    let python = folder.path().join("python").display().to_string();
    let made = Command::new("python3").args(["-m", "venv", "--without-pip", &python]).status();
    assert!(made.expect("python3 starts").success());
    let mut command = Command::new(program("loadgen-node"));
    command.arg("accuracy").arg(run.path("")).args([
        "--reference",
        &reference,
        "--python",
        &python,
    ]);
    let mut child = command.stderr(Stdio::null()).spawn().expect("loadgen-node starts");
    let script = || fs::read_to_string(&here).ok().filter(|pid| !pid.is_empty());
    e2e::process::wait_until("the script has begun", || script().is_some());
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.expect("kill starts").success());
    assert_eq!(child.wait().expect("ours").code(), Some(3));
    let process = format!("/proc/{}", script().expect("its number"));
    assert!(!Path::new(&process).exists(), "the script goes on");
}
