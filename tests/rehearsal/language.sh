#!/usr/bin/env bash
# Rehearses a submission of language and speech models on one machine, from `loadgen-node init` to the official checkers:
#
#   tests/rehearsal/language.sh OUT MLCOMMONS ROUND DIVISION MODEL…
#
# Three network namespaces represent three hosts, and all scenarios of the models form one tree. Engines without a model respond:
#   llama2-70b     synthetic prompts, the engine `tokens`, and the interactive variant
#   gpt-oss-120b   likewise, with prepared prompts of random ids; the engine's outputs have the mean length that TEST09 requires
#   whisper        prepared clips of noise, and an engine in Python that returns a made-up transcript (speech.py); not in Network
# The official scripts of MLCOMMONS, a clone of mlcommons/inference with its tags, grade the runs of the last two, and verify TEST07 and
# TEST09. Prompts, tokenizer and correct answers (made_up.py) and LiveCodeBench's module (lcb_runner.py) are made up, so that the answers are
# correct. The official checkers may report only errors about duration and about the accuracy of Llama 2 70B; netdiv's `check` must detect
# edits of a seed, a bound and a field. The script needs root, iproute2 and both programs, with the LoadGen of the round. The results are not
# MLPerf results. Settings from the environment:
#   BIN                 folder of the programs [default: target/release]
#   MS                  minimum duration of a performance run, in ms [default: 10000]
#   CHECKER_PYTHON      Python with the packages of the official checkers [default: python3]
#   NETDIV_DATA_PYTHON  virtual environment of deploy/data/prepare [default: target/data]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
usage="language.sh OUT MLCOMMONS ROUND DIVISION MODEL…"
out=${1:?OUT is missing: $usage}
MLCOMMONS=$(realpath "${2:?MLCOMMONS is missing: $usage}")
ROUND=${3:?ROUND is missing: $usage}
DIVISION=${4:?DIVISION is missing: $usage}
: "${5:?MODEL is missing: $usage}"
models=("${@:5}")
. "$here/two_nodes.sh"
export NETDIV_DATA_PYTHON=${NETDIV_DATA_PYTHON:-$root/target/data}

nodes=10.232.0.2,10.232.1.2
files=$out/files
reference=$out/inference
tokens=(--engine tokens --tokens-tpot 1us)
rm -rf "$files"
mkdir -p "$files"
"$BIN/loadgen-node" certificates --hosts "$nodes" --output "$files/certificates" >/dev/null
cd "$files"

# Writes the official scripts, with a stand-in for a submodule of theirs.
write_scripts() {
    local newest folder module=$reference/language/deepseek-r1/submodules/LiveCodeBench
    newest=$(git -C "$MLCOMMONS" rev-parse --quiet --verify origin/HEAD || echo HEAD)
    for folder in compliance language/gpt-oss-120b speech2text; do
        mkdir -p "$reference/$folder"
        git -C "$MLCOMMONS" archive "$newest:$folder" | tar -x -C "$reference/$folder"
    done
    mkdir -p "$module"
    cp "$here/lcb_runner.py" "$module"
}

# Makes data in the form of the published data of $model, prepares it, and sets `data` to what `run --dataset` takes.
prepare() {
    rm -rf "$out/source" "$out/data" "$reference"
    write_scripts
    PYTHONPATH=$root/python/netdiv-engine/src "$NETDIV_DATA_PYTHON/bin/python" "$here/made_up.py" "$model" "$out/source"
    data=$("$root/deploy/data/prepare" "$model" --from "$out/source" --output "$out/data")
    data=${data#--dataset }
}

# Runs loadgen-node with the network of this machine. A verdict does not matter here: only a rejected command or a failure ends the rehearsal.
loadgen_node() {
    ${within:-} "$BIN/loadgen-node" "$@" >"$out/last.txt" 2>&1 || [ $? = 1 ] || { cat "$out/last.txt" >&2; exit 1; }
    grep -E "^($benchmark|TEST|  (exact_match|ACCURACY))" "$out/last.txt"
}

# Runs loadgen-node on its host.
node() {
    local within="ip netns exec $lg"
    loadgen_node "$@"
}

# Makes all runs of a scenario.
result() {
    local run=(run --config "$benchmark/run.toml" --benchmark "$benchmark" --scenario "$scenario" --dataset "$data" --rehearsal)
    local runs=$benchmark/runs/$scenario
    node "${run[@]}" --mode accuracy --output "$runs/accuracy"
    if [ "$model" = llama2-70b ]; then
        python3 "$here/fill_language.py" "$runs/accuracy" --accuracy
    else
        # The first time, it fetches the script's packages.
        loadgen_node accuracy "$runs/accuracy" --reference "$reference" -- "${script[@]}"
    fi
    node "${run[@]}" --output "$runs/performance"
    [ "$DIVISION" = closed ] || node "${run[@]}" --digests --output "$runs/digests"
    node audit --performance "$runs/performance" --accuracy "$runs/accuracy" --output "$runs/compliance" "${verified[@]}"
}

kind=graded
for model in "${models[@]}"; do
    benchmarks=("$model")
    first=server
    rate=1000
    verified=()
    case $model in
    llama2-70b)
        kind=language
        benchmarks=(llama2-70b-99.9 llama2-70b-interactive-99.9)
        data=synthetic-ids:24576x4-1024
        engine=("${tokens[@]}" --tokens-ttft 20ms --tokens-output 285-304 --max-batch 64)
        ;;
    gpt-oss-120b)
        benchmarks+=(gpt-oss-120b-interactive)
        rate=200
        prepare
        # So slow that Offline's 6,396 samples take 10 s.
        engine=("${tokens[@]}" --tokens-ttft 60ms --tokens-output 1160-1396 --tokens-vocabulary 201088 --max-batch 16)
        script=(--reference-data="$out/source/acc/acc_eval_ref.parquet" --tokenizer="$out/source/tokenizer")
        verified=(--reference "$reference" --script-option="--reference-data=$out/source/acc/acc_eval_compliance_gpqa.parquet"
            --script-option="${script[1]}")
        ;;
    whisper)
        first=offline
        rate=600
        prepare
        engine=(--engine python --model "$here/speech.py" --python "$NETDIV_DATA_PYTHON/bin/python")
        script=(--manifest="$out/data/dev-all-repack.json")
        verified=(--reference "$reference" --script-option="${script[0]}")
        ;;
    *)
        echo "$model: write llama2-70b, gpt-oss-120b or whisper" >&2
        exit 2
        ;;
    esac
    stop_nodes
    start_node "$a" node-a 10.232.0.2 --listen 0.0.0.0:50051 "${engine[@]}"
    start_node "$b" node-b 10.232.1.2 --listen 0.0.0.0:50051 "${engine[@]}"
    for benchmark in "${benchmarks[@]}"; do
        "$BIN/loadgen-node" init "$benchmark" --scenario "$first" --round "$ROUND" --division "$DIVISION" --nodes "$nodes" --rate "$rate" \
            --output "$benchmark" >/dev/null
        ln -s ../certificates "$benchmark/"
        for scenario in $(python3 "$here/fill_language.py" "$benchmark" --ms "$MS"); do
            echo "== $benchmark $scenario"
            result
        done
    done
done

echo "== the tree"
"$BIN/loadgen-node" submission --rehearsal --settings submission.toml --output tree
"$here/judge.sh" tree "$out" "$MLCOMMONS" "$ROUND" "$DIVISION" "$kind"
