//! Examples and exit codes of the commands, as `--help` shows them.

/// Defines the text after the help of each command, from examples without the program's name, and
/// from exit codes with their meanings.
macro_rules! help {
    ($($command:ident: [$($example:literal,)+] { $($code:literal: $meaning:literal),+ $(,)? })+) => {
        $(pub(super) const $command: &str = concat!(
            "Examples:\n",
            $("  loadgen-node ", $example, "\n",)+
            "\nExit codes:",
            $("\n  ", $code, "  ", $meaning,)+
        );)+
    };
}

help! {
    INIT: [
        "init llama3.1-8b --scenario server --nodes 'rack[1-8]:50051'",
        "init llama3.1-8b --scenario offline --nodes rack1,rack2 --division closed --output settings",
    ] { 0: "done", 2: "invalid settings or files", 3: "a file cannot be written" }

    RUN: [
        "run --config run.toml",
        "run --nodes 127.0.0.1:50051 --benchmark sorting --scenario server",
    ] {
        0: "VALID, or COMPLETE for an accuracy run",
        1: "the run finished and is not valid",
        2: "invalid settings or files, or unusable nodes",
        3: "the run failed",
    }

    SWEEP: [
        "sweep --config run.toml --nodes-of 1,2",
        "sweep --config run.toml --rates 100..1600 --output curve",
        "sweep --config run.toml --scenario offline --concurrency 1..128",
    ] {
        0: "a step is VALID",
        1: "no step is VALID",
        2: "invalid settings or files, or unusable nodes",
        3: "a run failed",
    }

    REPORT: [
        "report out/sorting-server-performance",
        "report runs/1 runs/2 --format markdown",
    ] { 0: "done", 2: "a folder holds no run", 3: "the report cannot be written" }

    COMPARE: [
        "compare before after",
        "compare baseline-runs new-runs --tolerance 2% --html compared.html",
    ] {
        0: "nothing is worse, or the noise is unknown",
        1: "a figure is worse, beyond --tolerance and the noise",
        2: "the runs cannot be compared",
        3: "a file cannot be written",
    }

    TAX: [
        "tax --node-config node.toml -- --benchmark digits --scenario offline",
        "tax --node-config node.toml --rounds 5 -- --config run.toml",
    ] { 0: "measured", 2: "invalid settings or files", 3: "a run failed" }

    PROBE: [
        "probe --config run.toml",
        "probe --nodes 127.0.0.1:50051 --dataset sorting",
    ] {
        0: "all nodes respond, and alike",
        1: "there is a problem, or a finding that --fail-on names",
        2: "invalid settings or files",
        3: "the command failed, or the report cannot be written",
    }

    DOCTOR: [
        "doctor --config run.toml",
        "doctor --nodes 'rack[1-8]:50051' --fail-on warning --json doctor.json",
    ] {
        0: "no problem",
        1: "there is a problem, or a finding that --fail-on names",
        2: "invalid settings or files",
        3: "the command failed, or the report cannot be written",
    }

    FABRIC: [
        "fabric --nodes 'rack[1-8]:50051'",
        "fabric --nodes 'rack[1-8]:50051' --matrix --output monday",
    ] {
        0: "measured, and every --rate and --target was reached",
        1: "a --rate was not kept, or a --target is not carried",
        2: "invalid settings, or unusable nodes",
        3: "a measurement failed",
    }

    CERTIFICATES: [
        "certificates --hosts 'rack[1-8]'",
        "certificates --hosts rack9 --output kept --keep-authority",
    ] { 0: "done", 2: "invalid settings or files, or a file cannot be written" }

    ACCURACY: [
        "accuracy runs/offline/accuracy --reference inference",
        "accuracy --check --benchmark llama2-70b-99 --reference inference",
    ] {
        0: "every target is reached",
        1: "a target is missed",
        2: "invalid settings or files",
        3: "the script failed",
    }

    AUDIT: [
        "audit --performance runs/performance --accuracy runs/accuracy --output runs/compliance",
        "audit --performance runs/performance --accuracy runs/accuracy --output again --tests TEST06",
    ] { 0: "all tests pass", 1: "a test fails", 2: "invalid settings or files", 3: "a run failed" }

    CHECK: [
        "check out/llama3.1-8b-server-performance",
        "check tree --round v6.1 --strict",
    ] {
        0: "no rule is violated",
        1: "a rule is violated, or with --strict cannot be decided",
        2: "the folder is neither a run nor a submission",
    }

    SUBMISSION: [
        "submission --output tree",
        "submission --settings submission.toml --output tree --rehearsal",
    ] {
        0: "done",
        2: "a rule is violated, or invalid settings or files",
        3: "the tree cannot be written",
    }

    PLAN: [
        "plan llama2-70b-99 --scenario server --rate 100",
        "plan llama3.1-8b --scenario offline --token-rate 50000 --json",
    ] { 0: "done", 2: "invalid settings or files" }

    BENCHMARKS: [
        "benchmarks",
        "benchmarks llama3.1-8b",
    ] { 0: "done", 2: "no such benchmark" }

    IDS: [
        "ids prompts.jsonl --output prompts.ids",
        "ids prompts.npy --lengths lengths.npy --output prompts.ids",
    ] { 0: "done", 2: "the input is invalid, or the output cannot be written" }

    MODEL: [
        "model Llama-3.1-8B-Instruct --benchmark llama3.1-8b",
        "model checkpoint --benchmark llama2-70b-99 --name llama2-70b --eos 2 --output llama2-70b.toml",
    ] {
        0: "done",
        2: "the checkpoint lacks a fact, or options are invalid",
        3: "the file cannot be written",
    }

    NODES: [
        "nodes --nodes 'rack[1-8]:50051'",
        "nodes --config run.toml --json -",
    ] {
        0: "all nodes reply",
        1: "there is a problem, or a finding that --fail-on names",
        2: "invalid settings or files",
        3: "the command failed, or the report cannot be written",
    }

    PROGRAM: [
        "init llama3.1-8b --scenario server --nodes 'rack[1-8]:50051'",
        "run --config run.toml",
    ] {
        0: "success",
        1: "negative result: an invalid run, a violated rule, a problem",
        2: "invalid settings or files",
        3: "the command failed",
    }
}
