#!/usr/bin/env bash
# Rehearses a submission of a language model on one machine, from `loadgen-node init` to the official checkers:
#
#   tests/rehearsal/language.sh OUT MLCOMMONS ROUND DIVISION
#
# Three network namespaces represent three hosts. Prompts are synthetic, and the engine `tokens` answers them without a model. Offline,
# Server and Interactive of Llama 2 70B form one tree. The official checkers of MLCOMMONS, a clone of mlcommons/inference with its tags, may
# report only errors about accuracy and duration; netdiv's `check` must detect edits of a seed, a bound and a field. The script needs root,
# iproute2 and both programs, with the LoadGen of the round. The results are not MLPerf results. Settings from the environment:
#   BIN             folder of the programs [default: target/release]
#   MS              minimum duration of a performance run, in ms [default: 10000]
#   CHECKER_PYTHON  Python with the packages of the official checkers [default: python3]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
usage="language.sh OUT MLCOMMONS ROUND DIVISION"
out=${1:?OUT is missing: $usage}
MLCOMMONS=$(realpath "${2:?MLCOMMONS is missing: $usage}")
ROUND=${3:?ROUND is missing: $usage}
DIVISION=${4:?DIVISION is missing: $usage}
. "$here/two_nodes.sh"

nodes=10.232.0.2,10.232.1.2
files=$out/files
rate=1000
# Benchmarks, scenarios and the folders of their runs.
results=(
    "llama2-70b-99.9 offline offline"
    "llama2-70b-99.9 server server"
    "llama2-70b-interactive-99.9 server interactive"
)

echo "== settings"
rm -rf "$files" "$out/interactive"
"$BIN/loadgen-node" init llama2-70b-99.9 --scenario server --round "$ROUND" --division "$DIVISION" --nodes "$nodes" --rate "$rate" \
    --output "$files" >/dev/null
"$BIN/loadgen-node" init llama2-70b-interactive-99.9 --scenario server --round "$ROUND" --division "$DIVISION" --nodes "$nodes" \
    --rate "$rate" --output "$out/interactive" >/dev/null
python3 "$here/fill_language.py" "$files" "$out/interactive" --rate "$rate" --ms "$MS"
"$BIN/loadgen-node" certificates --hosts "$nodes" --output "$files/certificates" >/dev/null
cd "$files"
engine=(--engine tokens --tokens-ttft 20ms --tokens-tpot 1us --tokens-output 285-304 --max-batch 64)
start_node "$a" node-a 10.232.0.2 --listen 0.0.0.0:50051 "${engine[@]}"
start_node "$b" node-b 10.232.1.2 --listen 0.0.0.0:50051 "${engine[@]}"

# Runs loadgen-node. LoadGen's verdict does not matter here: only a rejected command or a failure ends the rehearsal.
node() {
    ip netns exec "$lg" "$BIN/loadgen-node" "$@" >"$out/last.txt" 2>&1 || [ $? = 1 ] || { cat "$out/last.txt" >&2; exit 1; }
    grep -m 1 -E '^(llama|TEST)' "$out/last.txt"
}
for result in "${results[@]}"; do
    read -r benchmark scenario folder <<<"$result"
    echo "== $benchmark $scenario"
    run=(run --config run.toml --benchmark "$benchmark" --scenario "$scenario")
    runs=runs/$folder
    node "${run[@]}" --mode accuracy --output "$runs/accuracy"
    python3 "$here/fill_language.py" "$runs/accuracy" --accuracy
    node "${run[@]}" --output "$runs/performance"
    [ "$DIVISION" = closed ] || node "${run[@]}" --digests --output "$runs/digests"
    node audit --performance "$runs/performance" --accuracy "$runs/accuracy" --output "$runs/compliance"
done

echo "== the tree"
"$BIN/loadgen-node" submission --rehearsal --settings submission.toml --output tree
"$here/judge.sh" tree "$out" "$MLCOMMONS" "$ROUND" "$DIVISION" language
