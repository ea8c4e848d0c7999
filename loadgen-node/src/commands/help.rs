//! Examples and exit codes of the commands, as `--help` shows them.

pub(super) const INIT: &str = "\
Examples:\n\
\x20 loadgen-node init llama3.1-8b --scenario server --nodes 'rack[1-8]:50051'\n\
\x20 loadgen-node init llama3.1-8b --scenario offline --nodes rack1,rack2 --division closed --output settings\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  invalid settings or files\n\
\x20 3  a file cannot be written";

pub(super) const RUN: &str = "\
Examples:\n\
\x20 loadgen-node run --config run.toml\n\
\x20 loadgen-node run --nodes 127.0.0.1:50051 --benchmark sorting --scenario server\n\
\n\
Exit codes:\n\
\x20 0  VALID, or COMPLETE for an accuracy run\n\
\x20 1  the run finished and is not valid\n\
\x20 2  invalid settings or files, or unusable nodes\n\
\x20 3  the run failed";

pub(super) const REPORT: &str = "\
Examples:\n\
\x20 loadgen-node report out/sorting-server-performance\n\
\x20 loadgen-node report runs/1 runs/2 --format markdown\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  a folder holds no run\n\
\x20 3  the report cannot be written";

pub(super) const COMPARE: &str = "\
Examples:\n\
\x20 loadgen-node compare before after\n\
\x20 loadgen-node compare baseline-runs new-runs --tolerance 2% --html compared.html\n\
\n\
Exit codes:\n\
\x20 0  nothing is worse, or the noise is unknown\n\
\x20 1  a figure is worse, beyond --tolerance and the noise\n\
\x20 2  the runs cannot be compared\n\
\x20 3  a file cannot be written";

pub(super) const TAX: &str = "\
Examples:\n\
\x20 loadgen-node tax --node-config node.toml -- --benchmark digits --scenario offline\n\
\x20 loadgen-node tax --node-config node.toml --rounds 5 -- --config run.toml\n\
\n\
Exit codes:\n\
\x20 0  measured\n\
\x20 2  invalid settings or files\n\
\x20 3  a run failed";

pub(super) const PROBE: &str = "\
Examples:\n\
\x20 loadgen-node probe --config run.toml\n\
\x20 loadgen-node probe --nodes 127.0.0.1:50051 --dataset sorting\n\
\n\
Exit codes:\n\
\x20 0  all nodes respond, and alike\n\
\x20 1  there is a problem, or a finding that --fail-on names\n\
\x20 2  invalid settings or files\n\
\x20 3  the command failed, or the report cannot be written";

pub(super) const DOCTOR: &str = "\
Examples:\n\
\x20 loadgen-node doctor --config run.toml\n\
\x20 loadgen-node doctor --nodes 'rack[1-8]:50051' --fail-on warning --json doctor.json\n\
\n\
Exit codes:\n\
\x20 0  no problem\n\
\x20 1  there is a problem, or a finding that --fail-on names\n\
\x20 2  invalid settings or files\n\
\x20 3  the command failed, or the report cannot be written";

pub(super) const FABRIC: &str = "\
Examples:\n\
\x20 loadgen-node fabric --nodes 'rack[1-8]:50051'\n\
\x20 loadgen-node fabric --nodes 'rack[1-8]:50051' --matrix --output monday\n\
\n\
Exit codes:\n\
\x20 0  measured, and every --rate and --target was reached\n\
\x20 1  a --rate was not kept, or a --target is not carried\n\
\x20 2  invalid settings, or unusable nodes\n\
\x20 3  a measurement failed";

pub(super) const CERTIFICATES: &str = "\
Examples:\n\
\x20 loadgen-node certificates --hosts 'rack[1-8]'\n\
\x20 loadgen-node certificates --hosts rack9 --output kept --keep-authority\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  invalid settings or files, or a file cannot be written";

pub(super) const ACCURACY: &str = "\
Examples:\n\
\x20 loadgen-node accuracy runs/offline/accuracy --reference inference\n\
\x20 loadgen-node accuracy --check --benchmark llama2-70b-99 --reference inference\n\
\n\
Exit codes:\n\
\x20 0  every target is reached\n\
\x20 1  a target is missed\n\
\x20 2  invalid settings or files\n\
\x20 3  the script failed";

pub(super) const AUDIT: &str = "\
Examples:\n\
\x20 loadgen-node audit --performance runs/performance --accuracy runs/accuracy --output runs/compliance\n\
\x20 loadgen-node audit --performance runs/performance --accuracy runs/accuracy --output again --tests TEST06\n\
\n\
Exit codes:\n\
\x20 0  all tests pass\n\
\x20 1  a test fails\n\
\x20 2  invalid settings or files\n\
\x20 3  a run failed";

pub(super) const CHECK: &str = "\
Examples:\n\
\x20 loadgen-node check out/llama3.1-8b-server-performance\n\
\x20 loadgen-node check tree --round v6.1 --strict\n\
\n\
Exit codes:\n\
\x20 0  no rule is violated\n\
\x20 1  a rule is violated, or with --strict cannot be decided\n\
\x20 2  the folder is neither a run nor a submission";

pub(super) const SUBMISSION: &str = "\
Examples:\n\
\x20 loadgen-node submission --output tree\n\
\x20 loadgen-node submission --settings submission.toml --output tree --rehearsal\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  a rule is violated, or invalid settings or files\n\
\x20 3  the tree cannot be written";

pub(super) const PLAN: &str = "\
Examples:\n\
\x20 loadgen-node plan llama2-70b-99 --scenario server --rate 100\n\
\x20 loadgen-node plan llama3.1-8b --scenario offline --token-rate 50000 --json\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  invalid settings or files";

pub(super) const BENCHMARKS: &str = "\
Examples:\n\
\x20 loadgen-node benchmarks\n\
\x20 loadgen-node benchmarks llama3.1-8b\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  no such benchmark";

pub(super) const IDS: &str = "\
Examples:\n\
\x20 loadgen-node ids prompts.jsonl --output prompts.ids\n\
\x20 loadgen-node ids prompts.npy --lengths lengths.npy --output prompts.ids\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  the input is invalid, or the output cannot be written";

pub(super) const MODEL: &str = "\
Examples:\n\
\x20 loadgen-node model Llama-3.1-8B-Instruct --benchmark llama3.1-8b\n\
\x20 loadgen-node model checkpoint --benchmark llama2-70b-99 --name llama2-70b --eos 2 --output llama2-70b.toml\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  the checkpoint lacks a fact, or options are invalid\n\
\x20 3  the file cannot be written";

pub(super) const NODES: &str = "\
Examples:\n\
\x20 loadgen-node nodes --nodes 'rack[1-8]:50051'\n\
\x20 loadgen-node nodes --config run.toml --json -\n\
\n\
Exit codes:\n\
\x20 0  all nodes reply\n\
\x20 1  there is a problem, or a finding that --fail-on names\n\
\x20 2  invalid settings or files\n\
\x20 3  the command failed, or the report cannot be written";

pub(super) const PROGRAM: &str = "\
Examples:\n\
\x20 loadgen-node init llama3.1-8b --scenario server --nodes 'rack[1-8]:50051'\n\
\x20 loadgen-node run --config run.toml\n\
\n\
Exit codes:\n\
\x20 0  success\n\
\x20 1  negative result: an invalid run, a violated rule, a problem\n\
\x20 2  invalid settings or files\n\
\x20 3  the command failed";
