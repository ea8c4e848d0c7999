#!/usr/bin/env bash
# Starts nodes and runs with mlcr. Run it in separate mount, process and network namespaces (steps/mlcflow.sh), without a network and
# with no other processes.
. "$(dirname "$0")/../common.sh"
ip link set lo up
export HOME=$OUT/home MLC_REPOS=$OUT/repos PATH=$OUT/python/bin:$PATH
mkdir -p "$HOME" "$OUT/sut" "$OUT/lon"
cd "$OUT/lon"
mlc add repo "$repository/deploy/mlcflow"
if [ -n "${MLPERF_AUTOMATIONS:-}" ]; then
    mlc add repo "$MLPERF_AUTOMATIONS"
    python "$repository/tests/deploy/mlcflow/names.py" "$repository/deploy/mlcflow" "$MLPERF_AUTOMATIONS"
fi

# Checks that a command fails with an error: WORDS COMMAND…
refused() {
    if "${@:2}" >"$OUT/refused.log" 2>&1; then fail "accepted: ${*:2}"; fi
    grep -qF -- "$1" "$OUT/refused.log" || { cat "$OUT/refused.log"; fail "the error is not \"$1\": ${*:2}"; }
    echo "refused: $1"
}
lon() { mlcr run,netdiv,_network-lon --model=digits --mlc_output=on "$@"; }
# Checks the state after a run with a Python expression, in which s is the state: EXPRESSION.
holds() { python -c 'import json, sys; s = json.load(open("tmp-state.json")); assert eval(sys.argv[1]), s' "$1" && echo "holds: $1"; }
ended() { [ -z "$(pgrep -x "$1")" ] || fail "$1 is still running"; }

# shellcheck disable=SC2016 # it names the variable
refused 'loadgen-node is missing in $PATH; set its folder with --netdiv_path=FOLDER' lon --sut_servers=127.0.0.1:50051

digits=$repository/deploy/digits
cd "$OUT/sut"
NETDIV_READY_FILE=$OUT/ready.json \
    mlcr run,netdiv,_network-sut --netdiv_path="$BIN" --model="$digits/digits.onnx" --port=50051 >"$OUT/sut.log" 2>&1 &
sut=$!
within 60 test -e "$OUT/ready.json" || { cat "$OUT/sut.log"; fail "the node does not start"; }

cd "$OUT/lon"
export PATH=$BIN:$PATH
nodes=--sut_servers=127.0.0.1:50051
# Short valid runs, and a run that is too short: LoadGen chooses the number of queries from the expected latency.
cat >user.conf <<'END'
*.Offline.min_duration = 10
*.SingleStream.min_duration = 500
END
lon $nodes --dataset="$digits/images.npy" --labels="$digits/labels.npy" --mode=accuracy
holds 's["netdiv"]["verdict"] == "COMPLETE" and s["netdiv"]["accuracy"]["correct"] == 493'
holds 's["mlc-mlperf-inference-results-last"] == {"accuracy": "98.600"}'
lon $nodes --user_conf=user.conf --scenario=offline --mode=performance --target_qps=1000000
holds 's["netdiv"]["verdict"] == "VALID" and s["netdiv"]["metric"]["value"] > 0'
holds 's["mlc-mlperf-inference-results-last"]["performance_valid"] is True'
holds 'float(s["mlc-mlperf-inference-results"][s["netdiv"]["sut_name"]]["digits"]["Offline"]["performance"]) > 0'
grep -qxF "MLC_MLPERF_OUTPUT_DIR=\"$PWD/out/digits-offline-performance\"" tmp-run-env.out
[ -f out/digits-offline-performance/result.json ]
# MLCFlow's form of a list, the end as an input, a settings file, another folder. An invalid result is not an error.
echo 'cluster_name = "rack"' >run.toml
mlcr run,netdiv --network=lon --sut_servers,=127.0.0.1:50051 --config=run.toml --model=digits --mlc_output=on --user_conf=user.conf \
    --scenario=SingleStream --singlestream_target_latency=10000 --output_dir=other
holds 's["netdiv"]["verdict"] == "INVALID" and "Decrease the expected latency" in s["netdiv"]["reasons"][0]'
holds 's["netdiv"]["sut_name"].startswith("rack ")'
holds 's["mlc-mlperf-inference-results-last"]["performance_valid"] is False'
[ -f other/digits-single-stream-performance/result.json ]

# From Python, with a target that is met.
python - <<'END'
import mlc

inputs = {"sut_servers": ["127.0.0.1:50051"], "model": "digits", "scenario": "SingleStream", "target_latency": 0.05}
inputs |= {"user_conf": "user.conf", "output_dir": "python"}
run = mlc.access({"action": "run", "automation": "script", "tags": "run,netdiv,_network-lon", "quiet": True, **inputs})
assert run["return"] == 0 and run["new_state"]["netdiv"]["verdict"] == "VALID", run
assert run["new_env"]["MLC_MLPERF_OUTPUT_DIR"].endswith("/lon/python/digits-single-stream-performance"), run["new_env"]
END

refused 'select an end' mlcr run,netdiv
refused 'name the SUT nodes: --sut_servers=HOST:PORT' lon
refused 'name the benchmark' mlcr run,netdiv,_network-lon $nodes
echo 'connect_timeout = "1s"' >impatient.toml
refused 'no node answers at 127.0.0.1:9' lon --sut_servers=127.0.0.1:9 --config=impatient.toml --output_dir=refused
refused "invalid value 'sideways' for '--scenario" lon $nodes --scenario=sideways
refused 'give host and port, without a scheme' lon --sut_servers=http://127.0.0.1:50051
refused 'fast is not a number' lon $nodes --target_qps=fast
refused 'holds another run' lon $nodes --mode=accuracy
refused 'loadgen-node is missing in nowhere' lon $nodes --netdiv_path=nowhere
# A run that ends without a record, of a program whose path is relative to the current folder.
mkdir fake
printf '#!/bin/sh\necho "now ERROR loadgen_node: nothing could be written" >&2\nexit 3\n' >fake/loadgen-node
chmod +x fake/loadgen-node
refused 'loadgen-node, exit code 3: loadgen_node: nothing could be written' lon $nodes --netdiv_path=fake --output_dir=refused
refused '--host requires --port' mlcr run,netdiv,_network-sut --host=0.0.0.0
refused 'sut-node, exit code 2: ' mlcr run,netdiv,_network-sut --model=nowhere.onnx

# An interrupted run, a run that loses its node, and a node that gets SIGTERM.
long=("$nodes" --scenario=Server --target_qps=100 --output_dir=long)
mlcr run,netdiv,_network-lon --model=digits "${long[@]}" >interrupted.log 2>&1 &
within 30 test -s long/digits-server-performance/mlperf_log_detail.txt || { cat interrupted.log; fail "the run does not start"; }
kill $!
if wait $!; then fail "an interrupted run has no error"; fi
grep -q 'loadgen-node, exit code 3: .*SIGTERM' interrupted.log || { cat interrupted.log; fail "the error does not name the signal"; }
ended loadgen-node

kill "$sut"
wait "$sut" || fail "a node that ends after SIGTERM must not be an error"
ended sut-node

cd "$OUT/sut"
NETDIV_READY_FILE=$OUT/ready.json mlcr run,netdiv,_network-sut --model=digits --port=50051 >"$OUT/sut.log" 2>&1 &
sut=$!
within 60 test -e "$OUT/ready.json" || { cat "$OUT/sut.log"; fail "the node does not start again"; }
cd "$OUT/lon"
rm -r long
mlcr run,netdiv,_network-lon --model=digits "${long[@]}" >lost.log 2>&1 &
within 30 test -s long/digits-server-performance/mlperf_log_detail.txt || { cat lost.log; fail "the run does not start"; }
kill -KILL "$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["pid"])' "$OUT/ready.json")"
if wait $!; then fail "a run that loses its node has no error"; fi
grep -q 'loadgen-node, exit code 3: .*lost node' lost.log || { cat lost.log; fail "the error does not name the lost node"; }
if wait "$sut"; then fail "a node that was killed has no error"; fi
grep -q 'sut-node, ended by SIGKILL' "$OUT/sut.log" || { cat "$OUT/sut.log"; fail "the error does not name the signal of the node"; }
ended loadgen-node
ended sut-node
echo "both ends have ended"
