#!/usr/bin/env bash
# Compares gRPC with QUIC over lossy paths and a long path, on one machine.
#
#   tests/testbed/measure.sh [SEED]
#
# Two hosts of a test bed represent the two machines. The script needs the same as testbed.sh, and the release build of both programs.
# It measures payload bandwidth with Offline runs, whose length depends on the path; `fabric` would measure for a fixed time.
# Settings from the environment:
#   BIN         folder of the programs
#   CC          congestion control of TCP; QUIC's is cubic
#   RATE_MBIT   rate of the link in each direction, below the relay's maximum; 0: unlimited
#   QUEUE       maximum number of packets queued at the link; others are dropped
#   TRANSPORTS  transports to measure
#   OUT         folder for the output of the runs
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
seed=${1:-1}
BIN=$(realpath "${BIN:-$here/../../target/release}")
CC=${CC:-cubic}
RATE_MBIT=${RATE_MBIT:-400}
QUEUE=${QUEUE:-1000}
TRANSPORTS=${TRANSPORTS:-grpc quic}
OUT=${OUT:-$(mktemp -d)}
node=10.231.0.2:50051

# Loss and delay in ms, in each direction; estimated MB/s of a connection, which determines the
# length of the Offline runs; samples in flight on each connection.
paths=(
    "0     0  45  32"
    "0.001 5  5   2"
    "0.01  5  1.5 2"
    "0.03  5  0.5 2"
    "0     25 40  32"
)

export TESTBED=${TESTBED:-nd-m} CC
bed=$here/testbed.sh
trap '"$bed" down' EXIT
trap 'exit 1' INT TERM

# Runs LoadGen: NAME SCENARIO SAMPLE-BYTES OPTION… Exit code 1 is an invalid run, here for example
# because it is short; its figures count.
run() {
    local name=$1 scenario=$2 bytes=$3 code=0
    shift 3
    "$bed" exec 1 timeout 120 "$BIN/loadgen-node" run --nodes "$node" --insecure --quiet \
        --benchmark fabric --dataset "synthetic:1024x$bytes" --scenario "$scenario" \
        --setting min_query_count=1 --output "$OUT/$name" "$@" \
        >"$OUT/$name.log" 2>&1 || code=$?
    if [ "$code" -gt 1 ]; then
        echo "$name: exit code $code" >&2
        tail -n 3 "$OUT/$name.log" >&2
    fi
}

# Prints a row with the results of runs: PREFIX PATH TRANSPORT. The runs' names begin with PREFIX.
row() {
    python3 - "$OUT" "$@" <<'PYTHON'
import json, sys
out, prefix, path, transport = sys.argv[1:]
def result(name):
    try:
        return json.load(open(f"{out}/{prefix}-{name}/result.json"))
    except OSError:
        return None
def latency(name, *quantiles):
    r = result(name)
    if not r:
        return "-"
    return " / ".join(f"{r['loadgen_latency_ns'][q] / 1e6:.1f}" for q in quantiles)
def rate(name):
    r = result(name)
    return f"{r['metric']['value'] * 150528 / 1e6:.2f}" if r else "-"
print("|", " | ".join([
    path, transport, latency("trip", "50.00", "99.00"), rate("offline-1"), rate("offline-4"),
    *(latency(f"server-{n}", "50.00", "95.00", "99.00", "99.90") for n in (1, 8)),
]), "|", flush=True)
PYTHON
}

mkdir -p "$OUT"
"$bed" up 2
"$bed" exec 2 "$BIN/sut-node" --engine none --listen "$node" --insecure >"$OUT/sut-node.log" 2>&1 &
disown

echo "Seed $seed, TCP $CC, $RATE_MBIT Mbit/s in each direction, queue of $QUEUE packets; files in $OUT."
echo "Times in ms. Round trip: 1 KiB, one at a time. Server: 1 KiB at 200/s."
echo
echo "| loss and delay in each direction | transport | round trip p50 / p99 | MB/s, 1 connection | MB/s, 4 connections | Server p50 / p95 / p99 / p99.9 | Server, 8 streams |"
echo "|---|---|---|---|---|---|---|"
for i in "${!paths[@]}"; do
    read -r loss delay guess window <<<"${paths[i]}"
    "$bed" seed "$((seed * 100 + i))"
    "$bed" fault '*' '*' delay="$delay" loss="$loss" rate="$RATE_MBIT" queue="$QUEUE"
    for transport in $TRANSPORTS; do
        prefix=$i-$transport
        run "$prefix-trip" single-stream 1024 --transport "$transport" \
            --setting min_duration_ms=5000
        for connections in 1 4; do
            qps=$(python3 -c "print(min(45, $guess * $connections) * 1e6 / 150528)")
            run "$prefix-offline-$connections" offline 150528 --transport "$transport" \
                --connections "$connections" --window-samples "$((window * connections))" \
                --setting min_duration_ms=5000 --setting "offline_expected_qps=$qps"
        done
        for streams in 1 8; do
            if [ "$transport $streams" = "grpc 8" ]; then continue; fi
            run "$prefix-server-$streams" server 1024 --transport "$transport" \
                --streams "$streams" --setting min_duration_ms=10000 \
                --setting server_target_qps=200 --setting server_target_latency_ns=100000000
        done
        row "$prefix" "$(python3 -c "print(f'{$loss:.1%}, $delay ms')")" "$transport"
    done
    "$bed" report >"$OUT/relay-$i.json"
done
echo
echo "Report of the relay for each path:"
cat "$OUT"/relay-*.json
