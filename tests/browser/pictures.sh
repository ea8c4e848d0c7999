#!/usr/bin/env bash
# Makes the pictures of README and docs: sweeps of a language model without a model over one and two nodes, and of digits; and the report of a
# run. Takes ten minutes, on a machine with nothing else to do.
#
#   tests/browser/pictures.sh
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-$here/../../out/pictures}
. "$here/setup.sh"
rm -rf "$OUT/sweeps"

# The commands of docs/SWEEP.md.
for name in a b; do
    start $name --engine tokens --tokens-ttft 20ms --tokens-tpot 1ms --tokens-output 100 --max-in-flight-samples 64
done
start digits --model digits
sweep() {
    "$BIN/loadgen-node" sweep --step-time 15s --output "$OUT/sweeps/$1" "${@:2}" | tee "$OUT/$1.txt"
}
sweep tokens --nodes "$(address a),$(address b)" --nodes-of 1,2 --benchmark chat --dataset synthetic-ids:1000x16-1024 \
    --setting use_token_latencies=true --setting server_ttft_latency=200000000 --setting server_tpot_latency=2000000
sweep digits --nodes "$(address digits)" --benchmark digits --setting server_target_latency_ns=50000000
best=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["best"][-1]["folder"])' "$OUT/sweeps/tokens/sweep.json")
cd "$OUT" && cp "$here/shots.mjs" . && node shots.mjs "$(command -v chromium)" \
    sweeps/tokens/report.html="$here/../../docs/sweep-tokens.png" sweeps/digits/report.html="$here/../../docs/sweep-digits.png" \
    "sweeps/tokens/$best/report.html=$here/../../docs/report.png"
