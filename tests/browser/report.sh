#!/usr/bin/env bash
# Tests the pages of `loadgen-node report` and `compare` in a real browser: they request nothing and cause no errors, every figure matches
# result.json, pictures are legible and visible on a wide light screen and on a narrow dark one, and the keyboard reaches everything. Takes
# screenshots.
#
#   tests/browser/report.sh
#
# The script needs root on Debian 12: it installs chromium with apt, and playwright-core with npm. Settings from the environment:
#   BIN  folder of the programs
#   OUT  folder for the pages and the screenshots
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
BIN=$(realpath "${BIN:-$here/../../target/release}")
mkdir -p "${OUT:=$here/../../out/report-test}"
OUT=$(realpath "$OUT")

if ! command -v chromium node npm >/dev/null; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core nodejs npm >/dev/null
fi
npm install --silent --no-save --no-audit --no-fund --prefix "$OUT" playwright-core@1.56.1

rm -rf "$OUT"/runs "$OUT"/*.png
nodes=()
trap 'kill "${nodes[@]}" 2>/dev/null || true' EXIT
start() {
    rm -f "$OUT/$1.ready"
    "$BIN/sut-node" --name "$@" --listen 127.0.0.1:0 --ready-file "$OUT/$1.ready" 2>"$OUT/$1.log" &
    nodes+=($!)
    for _ in $(seq 200); do
        [ -s "$OUT/$1.ready" ] && return
        sleep 0.05
    done
    cat "$OUT/$1.log" >&2
    exit 1
}
address() { sed 's/.*"grpc":"\([^"]*\)".*/\1/' "$OUT/$1.ready"; }
start rack1-a --engine echo --echo-batch 2ms
start rack1-b --engine echo --echo-batch 2ms
start rack1-slow --engine echo --echo-batch 9ms
start chat-a --engine tokens --tokens-ttft 8ms --tokens-tpot 100us --tokens-output 100-300
start chat-b --engine tokens --tokens-ttft 9ms --tokens-tpot 110us --tokens-output 100-300
# A run on a busy machine may be INVALID (exit code 1), which its page shows.
run() {
    "$BIN/loadgen-node" run --quiet --benchmark digits --scenario server --setting min_duration_ms=12000 --setting server_target_qps="$2" --setting server_target_latency_ns=25000000 \
        --nodes "$(address rack1-a),$(address rack1-b),$(address rack1-slow)" --output "$OUT/runs/$1" >"$OUT/$1.txt" || [ $? = 1 ]
}
run server 1000
run server-2 1500
# The bound of the first token is far outside the data, that of further tokens is not.
"$BIN/loadgen-node" run --quiet --benchmark chat --scenario server --dataset synthetic-ids:1000x16-1024 --nodes "$(address chat-a),$(address chat-b)" \
    --setting use_token_latencies=true --setting server_target_qps=100 --setting server_ttft_latency=2000000000 --setting server_tpot_latency=200000 \
    --setting min_duration_ms=10000 --output "$OUT/runs/chat" >"$OUT/chat.txt" || [ $? = 1 ]
"$BIN/loadgen-node" report "$OUT/runs/server"
"$BIN/loadgen-node" report "$OUT/runs/chat"
"$BIN/loadgen-node" report "$OUT/runs/server" "$OUT/runs/server-2" --output "$OUT/runs/overview.html"
"$BIN/loadgen-node" report "$OUT/runs"
"$BIN/loadgen-node" compare "$OUT/runs/server" "$OUT/runs/server-2" --html "$OUT/runs/compared.html" --tolerance 1000% >/dev/null
cd "$OUT" && cp "$here/look.mjs" . && node look.mjs "$(command -v chromium)"
