#!/usr/bin/env bash
# One model over batch sizes: a bare loop in Python, the node's engines alone, and the network's part, as a table.
#
#     deploy/models/sweep.sh target/models/resnet50.toml synthetic:256x150528 cuda:0 "1 8 32 128"
#
# Environment: ROUNDS (5; each line is measured in turn, so often), SECONDS_EACH (10), LENGTH of free dimensions (384),
# PYTHON with torch (target/models-venv/bin/python). `make build` and `make models` come first.
set -euo pipefail
cd "$(dirname "$0")/../.."
manifest=$1 dataset=$2 device=$3 sizes=$4
rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-10} length=${LENGTH:-384}
python=${PYTHON:-target/models-venv/bin/python}
bin=${CARGO_TARGET_DIR:-target}/release
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# Of the numbers in a file: median (least – most).
spread() {
    sort -g "$1" | awk -v format="$2" '{ n[NR] = $1 } END {
        printf format " (" format " – " format ")", (n[int((NR + 1) / 2)] + n[int(NR / 2) + 1]) / 2, n[1], n[NR] }'
}

echo "| batch | Python loop, samples/s | node's engines, samples/s | engines to loop | over loopback to in one process |"
echo "|---|---|---|---|---|"
for size in $sizes; do
    cat > "$folder/node.toml" <<END
engine = "torch"
model = "$manifest"
devices = ["$device"]
max_batch = $size
batch_timeout_us = 100000
END
    : > "$folder/loop"; : > "$folder/engines"; : > "$folder/ratio"
    for _ in $(seq "$rounds"); do
        loop=$("$python" deploy/models/loop.py "$manifest" --device "$device" --batch "$size" --length "$length" \
            --seconds "$seconds")
        engines=$("$bin/sut-node" bench --config "$folder/node.toml" --dataset "$dataset" --seconds "$seconds" \
            2> "$folder/log" | sed -n 's/^  samples per second //p') || { cat "$folder/log"; exit 1; }
        echo "$loop" >> "$folder/loop"
        echo "$engines" >> "$folder/engines"
        awk "BEGIN { print $engines / $loop }" >> "$folder/ratio"
    done
    # As many samples as the engines do in that time: LoadGen asks for a tenth more than it is told.
    qps=$(awk "BEGIN { print $engines / 1.1 }")
    tax=$("$bin/loadgen-node" tax --node-config "$folder/node.toml" --rounds "$rounds" --output "$folder/tax-$size" -- \
        --scenario offline --benchmark sweep --dataset "$dataset" --quiet \
        --setting "offline_expected_qps=$qps" --setting "min_duration_ms=${seconds}000" 2> "$folder/log" \
        | sed -n 's/^  median \([0-9.]*\), \([0-9.]*\) to \([0-9.]*\) in.*/\1 (\2 – \3)/p') || { cat "$folder/log"; exit 1; }
    echo "| $size | $(spread "$folder/loop" %.1f) | $(spread "$folder/engines" %.1f) | $(spread "$folder/ratio" %.3f) | $tax |"
done
