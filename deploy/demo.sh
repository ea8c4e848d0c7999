#!/usr/bin/env bash
# Runs two SUT nodes and a LoadGen node on this machine: digits and tokens, accuracy, Offline and Server with the official LoadGen.
# Over loopback the results are not Network division results.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=${CARGO_TARGET_DIR:-target}/release
out=out/demo
rm -rf "$out"
mkdir -p "$out"

nodes=()
stop() {
    for node in "${nodes[@]}"; do kill "$node" 2>/dev/null || true; done
    wait
    nodes=()
}
trap stop EXIT

address_of() {
    for _ in $(seq 100); do
        if [ -f "$out/$1.json" ]; then
            sed -n 's/.*"grpc": *"\([^"]*\)".*/\1/p' "$out/$1.json"
            return
        fi
        sleep 0.1
    done
    echo "$1 did not start:" >&2
    cat "$out/$1.log" >&2
    exit 1
}
# Starts two nodes with these options. Port 0 selects a free port, which the ready file contains once the node accepts calls.
start() {
    for name in node-a node-b; do
        "$bin/sut-node" --listen 127.0.0.1:0 --name "$name" --ready-file "$out/$name.json" "$@" 2>"$out/$name.log" &
        nodes+=($!)
    done
    a=$(address_of node-a)
    b=$(address_of node-b)
}
run() { "$bin/loadgen-node" run --nodes "$a,$b" --output "$out/$1" "${@:2}"; }

# Makes an accuracy run, which must have the same result as a run without a network.
accuracy() {
    "$bin/without-network" "$1" | tee "$out/$1-without-network.txt"
    run "$1-accuracy" --benchmark "$1" --scenario offline --mode accuracy | tee "$out/$1-accuracy.txt"
    if [ "$(right "$out/$1-accuracy.txt")" != "$(right "$out/$1-without-network.txt")" ]; then
        echo "the accuracy over the network differs from the accuracy without it" >&2
        exit 1
    fi
}
right() { grep -oE '[0-9]+ of 500' "$1"; }

start --model digits
echo "== the nodes"
"$bin/loadgen-node" nodes --nodes "$a,$b"

echo "== digits: accuracy"
accuracy digits

digits() { run "$1" --benchmark digits --user-conf deploy/digits/user.conf "${@:2}"; }
echo
echo "== digits: Offline (after a short run that determines the rate)"
digits trial --scenario offline --setting min_duration_ms=500 >"$out/trial.txt" 2>&1 || true
if ! rate=$(grep -oE 'samples per second +[0-9]+' "$out/trial.txt" | grep -oE '[0-9]+$'); then
    cat "$out/trial.txt" >&2
    exit 1
fi
digits offline --scenario offline --setting offline_expected_qps=$((rate * 3 / 2))

echo
echo "== digits: Server"
digits server --scenario server

stop
start --engine decoder --model sorting --threads 1
echo
echo "== tokens: accuracy"
accuracy sorting

echo
echo "== tokens: Server"
run tokens --benchmark sorting --scenario server
