#!/usr/bin/env bash
# One model over batch sizes: a bare loop in Python, the node's engines alone, and the network's part, as a table.
#
#     deploy/models/sweep.sh target/models/resnet50.toml synthetic:256x150528 cuda:0 "1 8 32 128"
#
# Environment: ROUNDS of `loadgen-node tax` (3), SECONDS_EACH (10), LENGTH of free dimensions (384), PYTHON with torch
# (target/models-venv/bin/python). `make build` and `make models` come first.
set -euo pipefail
cd "$(dirname "$0")/../.."
manifest=$1 dataset=$2 device=$3 sizes=$4
rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-10} length=${LENGTH:-384}
python=${PYTHON:-target/models-venv/bin/python}
bin=${CARGO_TARGET_DIR:-target}/release
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

echo "| batch | Python loop, samples/s | node's engines, samples/s | to the loop | over loopback to in one process, median (least – most) |"
echo "|---|---|---|---|---|"
for size in $sizes; do
    cat > "$folder/node.toml" <<END
engine = "torch"
model = "$manifest"
devices = ["$device"]
max_batch = $size
batch_timeout_us = 100000
END
    loop=$("$python" deploy/models/loop.py "$manifest" --device "$device" --batch "$size" --length "$length" --seconds "$seconds")
    bench=$("$bin/sut-node" bench --config "$folder/node.toml" --dataset "$dataset" --seconds "$seconds" 2> "$folder/log")
    engines=$(sed -n 's/^  samples per second //p' <<< "$bench")
    # As many samples as the engines do in that time, in whole batches.
    qps=$(awk -v rate="$engines" 'BEGIN { print rate / 1.1 }')
    tax=$("$bin/loadgen-node" tax --node-config "$folder/node.toml" --rounds "$rounds" --output "$folder/tax-$size" -- \
        --scenario offline --benchmark sweep --dataset "$dataset" --quiet \
        --setting "offline_expected_qps=$qps" --setting "min_duration_ms=${seconds}000" 2> "$folder/log" \
        | sed -n 's/^  median \([0-9.]*\), \([0-9.]*\) to \([0-9.]*\) in.*/\1 (\2 – \3)/p')
    awk -v size="$size" -v loop="$loop" -v engines="$engines" -v tax="$tax" \
        'BEGIN { printf "| %d | %.1f | %.1f | %.3f | %s |\n", size, loop, engines, engines / loop, tax }'
done
