#!/usr/bin/env bash
# Causes faults between hosts, over both transports. A run with a fault must end with the expected verdict, and the nodes must serve the
# next run.
#
#   tests/testbed/faults.sh
#
# Host 1 of a test bed runs the LoadGen node, hosts 2 and 3 a SUT node each. The script prints a table. Its exit code is 1 if a result
# differs from the expected one. Settings from the environment:
#   BIN         folder of the programs
#   TRANSPORTS  transports to test
#   OUT         folder for the output of the runs
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
BIN=$(realpath "${BIN:-$here/../../target/release}")
TRANSPORTS=${TRANSPORTS:-grpc quic}
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
export TESTBED=${TESTBED:-nd-f}
unset RUST_LOG
bed=$here/testbed.sh
nodes=10.231.0.2:50051,10.231.0.3:50051
wrong=0

trap '"$bed" down' EXIT
trap 'exit 1' INT TERM
"$bed" up 3
rm -f "$OUT"/node-*.json
for host in 2 3; do
    "$bed" exec "$host" "$BIN/sut-node" --insecure --name "node-$host" --listen "10.231.0.$host:50051" \
        --engine echo --echo-sample 500us --max-batch 16 --ready-file "$OUT/node-$host.json" 2>"$OUT/node-$host.log" &
    disown
done
for host in 2 3; do
    for _ in $(seq 200); do
        ! [ -e "$OUT/node-$host.json" ] || continue 2
        sleep 0.05
    done
    cat "$OUT/node-$host.log" >&2
    exit 1
done

# Runs LoadGen on host 1: NAME TRANSPORT OPTION…
run() {
    local out=$OUT/$1 transport=$2
    shift 2
    rm -rf "$out"
    "$bed" exec 1 timeout 60 "$BIN/loadgen-node" run --nodes "$nodes" --insecure --quiet --transport "$transport" \
        --benchmark fabric --dataset synthetic:100x1000 --output "$out" "$@" >"$out.txt" 2>&1
}

# Prints a value of a run's result.json: NAME PATH.
result() {
    python3 -c 'import json, sys, functools
print(functools.reduce(lambda part, key: part[key], sys.argv[2].split("."), json.load(open(sys.argv[1]))))' \
        "$OUT/$1/result.json" "$2" 2>/dev/null || echo '?'
}

# Tests a fault: TITLE TRANSPORT CODES WORDS, then options of the run, `--`, and the changes of paths, separated by commas.
# CODES are the expected exit codes, WORDS is a regular expression for the expected output.
#
# With exit codes 0 and 1 every sample must have a response; with 3 samples without one must be counted.
fault() {
    local title=$1 transport=$2 codes=$3 words=$4 options=() name code=0 begin seconds verdict lost change changes
    shift 4
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    name=$(tr -c 'a-z0-9\n' - <<<"${title,,}")-$transport
    run "$name" "$transport" --scenario server --setting server_target_qps=500 --setting min_duration_ms=4000 \
        --setting min_query_count=1 --setting server_target_latency_ns=10000000000 \
        --keepalive-timeout 1500ms --sample-timeout 4s "${options[@]}" &
    local running=$!
    # The fault must happen while samples are in flight.
    for _ in $(seq 400); do
        if grep -qs generated_query_count "$OUT/$name/mlperf_log_detail.txt"; then break; fi
        sleep 0.05
    done
    sleep 0.5
    "$bed" seed 1
    begin=$(date +%s%N)
    IFS=, read -ra changes <<<"$*"
    for change in "${changes[@]}"; do
        read -ra change <<<"$change"
        "$bed" fault "${change[@]}"
    done
    wait "$running" || code=$?
    seconds=$(python3 -c "print(f'{($(date +%s%N) - $begin) / 1e9:.1f}')")
    "$bed" fault '*' '*' clear
    "$bed" report >"$OUT/$name.relay.json"
    verdict=$(result "$name" verdict)
    lost=$(result "$name" samples.lost)

    local complaint=''
    if [[ " $codes " != *" $code "* ]]; then complaint="exit code $code, not $codes"; fi
    if ! grep -qE "$words" "$OUT/$name.txt"; then complaint="$complaint; no output matches /$words/"; fi
    case $code in
    0 | 1) [ "$lost" = 0 ] || complaint="$complaint; $lost samples lost" ;;
    *) seconds="$seconds s" ;;
    esac
    python3 - "$OUT/$name" "$*" <<'PYTHON' || complaint="$complaint; the counts do not add up"
import json, sys
out, faults = sys.argv[1:]
result = json.load(open(f"{out}/result.json"))
samples, nodes = result["samples"], result["nodes"]
assert samples["issued"] == samples["completed"] + samples["lost"]
assert samples["completed"] == sum(node["answered"] for node in nodes)
assert result["verdict"] not in ("VALID", "COMPLETE") or samples["lost"] == 0
# The test is meaningless if the fault did not occur.
paths = json.load(open(f"{out}.relay.json"))["paths"].values()
for key, counter in dict(cut="cut", loss="lost", duplicate="duplicate", reorder="reorder", corrupt="corrupt", damage="damage").items():
    assert f"{key}=" not in faults or sum(path.get(counter, 0) for path in paths) > 0, f"no {key}"
PYTHON
    # The next run must succeed.
    run "$name-next" "$transport" --scenario offline --mode accuracy || complaint="$complaint; the next run: exit code $?"
    if [ "$code" != 3 ]; then seconds='–'; fi
    echo "| $title | $transport | $verdict | $seconds | ${complaint:-as expected} |"
    if [ -n "$complaint" ]; then
        wrong=1
        tail -n 5 "$OUT/$name.txt" "$OUT/$name-next.txt" >&2
    fi
}

echo "Files in $OUT."
echo
echo "| fault, half a second after the start | transport | verdict | detected after | result |"
echo "|---|---|---|---|---|"
lost='lost node node-3|node node-3 (did not answer|has not answered|did not acknowledge)'
for transport in $TRANSPORTS; do
    fault 'partition: one of two nodes' "$transport" 3 "$lost" -- 1 3 cut=1, 3 1 cut=1
    fault 'partition: no data arrives from one node' "$transport" 3 "$lost" -- 3 1 cut=1
    fault 'partition: no data reaches one node' "$transport" 3 "$lost" -- 1 3 cut=1
    fault 'partition: both nodes' "$transport" 3 'node node-[23]' -- '* * cut=1'
    fault 'cut of 0.5 s' "$transport" 0 VALID -- 1 3 cut=1 for=0.5, 3 1 cut=1 for=0.5
    fault 'loss of 3 % from the nodes' "$transport" 0 VALID -- 2 1 loss=0.03, 3 1 loss=0.03
    fault 'loss of 3 % to one node' "$transport" 0 VALID -- 1 3 loss=0.03
    fault 'slow link: 6 Mbit/s to one node' "$transport" 0 VALID -- 1 3 rate=6
    fault 'delay of 40 ms, 20 ms of jitter' "$transport" 0 VALID -- '* * delay=40 jitter=20'
    fault 'duplicate and reordered frames: 5 %' "$transport" 0 VALID -- '* * duplicate=0.05 reorder=0.05'
    fault 'bits flipped in 2 % of frames' "$transport" 0 VALID -- '* * corrupt=0.02'
done
# QUIC authenticates each packet. TCP relies on its checksum, so that netdiv's own checks must detect the damage.
damaged='arrive as they were sent|checksum|damaged|lost node|has not answered|no sample|cannot be read|refuses|received'
for transport in $TRANSPORTS; do
    case $transport in
    grpc) fault 'bits flipped, with matching checksums: 2 %' grpc '1 3' "$damaged" --digests -- 1 3 damage=0.02 ;;
    quic) fault 'bits flipped, with matching checksums: 2 %' quic 0 VALID --digests -- 1 3 damage=0.02 ;;
    esac
done
if grep -l panicked "$OUT"/*.txt "$OUT"/*.log; then wrong=1; fi
exit "$wrong"
