#!/usr/bin/env bash
# Tests the FFI to LoadGen under valgrind: its test programs, then runs of the LoadGen node in every scenario, and runs whose node is
# killed. Errors are invalid reads and writes, uses of uninitialised memory, double frees and definite leaks, whether in LoadGen, in the
# shim, in netdiv or in a library. `make memcheck` calls the script with the folder of the built programs.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$1
if ! command -v valgrind >/dev/null; then
    echo "make memcheck needs valgrind 3.19 or newer; install it, on Debian and Ubuntu with apt-get install valgrind" >&2
    exit 2
fi
scratch=$(mktemp -d)
node=
trap 'kill "$node" 2>/dev/null || true; rm -rf "$scratch"' EXIT

# Exit code of valgrind for errors, which no tested program uses.
ERRORS=99

# Runs a program under valgrind, which must end with one of the exit codes in the first argument: CODES COMMAND…
check() {
    local expected=$1 code=0 log="$scratch/valgrind.log"
    shift
    valgrind --error-exitcode=$ERRORS --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
        --fair-sched=yes --num-callers=40 --suppressions=tests/memcheck/suppressions --log-file="$log" \
        "$@" >"$scratch/output" 2>&1 || code=$?
    if [[ " $expected " != *" $code "* ]]; then
        cat "$scratch/output" "$log"
        echo "exit code $code, not one of: $expected" >&2
        exit 1
    fi
    echo "    exit code $code; $(sed -n 's/^.*ERROR SUMMARY: //p' "$log" | tail -n 1)"
}

start_node() {
    rm -f "$scratch/ready"
    "$target/release/sut-node" --name node-a --engine echo --listen 127.0.0.1:0 --ready-file "$scratch/ready" \
        >"$scratch/node" 2>&1 &
    node=$!
    until [[ -e $scratch/ready ]]; do
        kill -0 "$node" || { cat "$scratch/node"; exit 1; }
        sleep 0.1
    done
    address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["grpc"])' "$scratch/ready")
}

# Makes a short run, with long timeouts for valgrind: CODES SCENARIO TRANSPORT OPTION…
run() {
    local expected=$1 scenario=$2 transport=$3
    shift 3
    rm -rf "$scratch/run"
    echo "loadgen-node run: $scenario, $transport, $*"
    check "$expected" "$target/release/loadgen-node" run --nodes "$address" --scenario "$scenario" --transport "$transport" \
        --benchmark fabric --dataset synthetic:24x64 --encoding lz4 --digests --output "$scratch/run" --quiet \
        --connect-timeout 100s --control-timeout 100s --keepalive-timeout 100s \
        --setting min_query_count=20 --setting server_target_qps=20 "$@"
}

echo "loadgen-sys: its test programs"
programs=$(cargo test --release --workspace --locked --no-run --message-format=json \
    --test abort --test complete --test panic 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
for program in $programs; do
    echo "  ${program##*/}"
    check 0 "$program" --test-threads=1
done

start_node
for scenario in offline server single-stream multi-stream; do
    run 0 $scenario grpc --mode accuracy
    # Valgrind may slow a run down until it is invalid.
    run "0 1" $scenario quic --mode performance --setting min_duration_ms=500
done

# The node is killed once LoadGen has started: the run must fail, which aborts LoadGen's test.
for transport in grpc quic; do
    rm -rf "$scratch/run"
    run 3 server $transport --setting min_duration_ms=600000 --sample-timeout 2s &
    failing=$!
    until [[ -s $scratch/run/mlperf_log_detail.txt ]]; do
        kill -0 "$failing" || break
        sleep 0.2
    done
    kill -9 "$node"
    wait "$node" || true
    wait "$failing"
    start_node
done
echo "no memory errors were found"
