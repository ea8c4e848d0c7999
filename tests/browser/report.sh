#!/usr/bin/env bash
# Tests the pages of `loadgen-node report`, `compare` and `fabric` in a real browser: they request nothing and cause no errors, every figure
# matches result.json, pictures are legible and visible on a wide light screen and on a narrow dark one, and the keyboard reaches everything. Takes
# screenshots.
#
#   tests/browser/report.sh
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-$here/../../out/report-test}
. "$here/setup.sh"
rm -rf "$OUT"/runs "$OUT"/sweeps "$OUT"/*.png

start rack1-a --engine echo --echo-batch 2ms
# Unlike rack1-a's, so that no line hides another.
start rack1-b --engine echo --echo-batch 2500us
start rack1-slow --engine echo --echo-batch 9ms
start chat-a --engine tokens --tokens-ttft 8ms --tokens-tpot 100us --tokens-output 100-300
start chat-b --engine tokens --tokens-ttft 9ms --tokens-tpot 110us --tokens-output 100-300
# A run on a busy machine may be INVALID (exit code 1), which its page shows.
run() {
    "$BIN/loadgen-node" run --quiet --benchmark digits --scenario server --setting min_duration_ms=12000 --setting server_target_qps="$2" --setting server_target_latency_ns=25000000 \
        --nodes "$(address rack1-a),$(address rack1-b),$(address rack1-slow)" --output "$OUT/runs/$1" >"$OUT/$1.txt" || [ $? = 1 ]
}
echo localhost:1 >"$OUT/peers"
start fabric-a --engine none --fabric-peers "@$OUT/peers"
start fabric-b --engine none --fabric-peers "@$OUT/peers"
printf '%s\n' "$(address fabric-a)" "$(address fabric-b)" >"$OUT/peers"
fabric() { "$BIN/loadgen-node" fabric --nodes "@$OUT/peers" --duration 200ms --warm-up 50ms --output "$OUT/runs/$1" "${@:2}" >"$OUT/$1.txt" 2>&1; }
fabric fabric --sizes 64,4KiB,256KiB
fabric matrix --matrix
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
sweep() {
    "$BIN/loadgen-node" sweep --quiet --step-time 3s --step-samples 500 --no-search --output "$OUT/sweeps/$1" "${@:2}" >"$OUT/sweep-$1.txt" 2>&1
}
sweep digits --benchmark digits --nodes "$(address rack1-a),$(address rack1-b)" --nodes-of 1,2 --rates 100..800 --setting server_target_latency_ns=12000000
sweep chat --benchmark chat --dataset synthetic-ids:100x16-1024 --nodes "$(address chat-a),$(address chat-b)" --nodes-of 1,2 --rates 50,100,200,300 \
    --setting use_token_latencies=true --setting server_ttft_latency=50000000 --setting server_tpot_latency=200000
cd "$OUT" && cp "$here/look.mjs" . && node look.mjs "$(command -v chromium)" sweeps/digits sweeps/chat
