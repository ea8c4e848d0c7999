#!/usr/bin/env bash
# Two SUT nodes and a LoadGen node on this machine: accuracy, Offline and Server with the official LoadGen.
# On loopback it is no Network division result; it shows the parts at work.
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
}
trap stop EXIT

# Port 0 is any free port; once the node takes calls, its ready file says which.
for name in node-a node-b; do
    "$bin/sut-node" --listen 127.0.0.1:0 --name "$name" --ready-file "$out/$name.json" 2>"$out/$name.log" &
    nodes+=($!)
done
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
a=$(address_of node-a)
b=$(address_of node-b)

run() { "$bin/loadgen-node" run --nodes "$a,$b" --user-conf deploy/digits/user.conf --output "$out/$1" "${@:2}"; }

echo "== the nodes"
"$bin/loadgen-node" nodes --nodes "$a,$b"

echo "== accuracy"
"$bin/without-network" | tee "$out/without-network.txt"
run accuracy --scenario offline --mode accuracy | tee "$out/accuracy.txt"
right() { grep -oE '[0-9]+ of 500' "$1"; }
if [ "$(right "$out/accuracy.txt")" != "$(right "$out/without-network.txt")" ]; then
    echo "the accuracy over the network differs from that without" >&2
    exit 1
fi

echo
echo "== Offline (first a short run, to ask LoadGen for enough samples)"
run trial --scenario offline --setting min_duration_ms=500 >"$out/trial.txt" 2>&1 || true
if ! rate=$(grep -oE 'samples per second +[0-9]+' "$out/trial.txt" | grep -oE '[0-9]+$'); then
    cat "$out/trial.txt" >&2
    exit 1
fi
run offline --scenario offline --setting offline_expected_qps=$((rate * 3 / 2))

echo
echo "== Server"
run server --scenario server
