#!/usr/bin/env bash
# Compares a bare Python loop, the node's engines, and runs over the network, for several batch sizes of a model; prints a table. All
# use batches of one shape, and the same settings of libtorch. On a GPU the loop runs twice. The second time it copies a batch while
# another one computes: only this is an upper bound for the engines.
#
#     deploy/models/sweep.sh target/models/resnet50.toml synthetic:256x150528 cuda:0 "1 8 32 128"
#
# Environment: ROUNDS (5: number of measurements of each line, in turn), SECONDS_EACH (10), LENGTH of free dimensions (384), PYTHON with
# torch (target/models-venv/bin/python). Run `make build` and `make models` first.
set -euo pipefail
cd "$(dirname "$0")/../.."
manifest=$1 dataset=$2 device=$3 sizes=$4
rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-10} length=${LENGTH:-384}
python=${PYTHON:-target/models-venv/bin/python}
bin=${CARGO_TARGET_DIR:-target}/release
folder=$(mktemp -d)
loops=(waits); [[ $device == cuda* ]] && loops+=(overlaps)
# Rows of segmentation and recommendation are not samples, and their number is constant.
fixed=
case $(sed -n 's/^workload = "\(.*\)"/\1/p' "$manifest") in
    segmentation | recommendation) ;;
    question-answering) fixed="buckets = [$length]"$'\n'"batch_sizes = [SIZE]" ;;
    *) fixed="batch_sizes = [SIZE]" ;;
esac
trap 'rm -r "$folder"' EXIT

# Prints median (minimum – maximum) of the numbers in a file, or a dash if the file is missing.
spread() {
    [ -e "$folder/$1" ] || { echo –; return; }
    sort -g "$folder/$1" | awk -v format="$2" '{ n[NR] = $1 } END {
        printf format " (" format " – " format ")", (n[int((NR + 1) / 2)] + n[int(NR / 2) + 1]) / 2, n[1], n[NR] }'
}

echo "| batch | Python loop, samples/s | loop that overlaps | node's engines, samples/s | engines to loop | engines to loop that overlaps | over loopback to in one process |"
echo "|---|---|---|---|---|---|---|"
for size in $sizes; do
    cat > "$folder/node.toml" <<END
engine = "torch"
model = "$(realpath "$manifest")"
devices = ["$device"]
max_batch = $size
batch_timeout = '100ms'
${fixed//SIZE/$size}
END
    rm -f "$folder"/{loop,ratio}* "$folder/engines"
    for _ in $(seq "$rounds"); do
        "$python" deploy/models/loop.py "$manifest" --device "$device" --batch "$size" --length "$length" \
            --seconds "$seconds" --kinds "${loops[@]}" > "$folder/loops"
        while read -r _ kind rate; do echo "$rate" >> "$folder/loop-$kind"; done < "$folder/loops"
        engines=$("$bin/sut-node" bench --config "$folder/node.toml" --dataset "$dataset" --seconds "$seconds" \
            2> "$folder/log" | sed -n 's/^  samples per second //p') || { cat "$folder/log"; exit 1; }
        echo "$engines" >> "$folder/engines"
        for kind in "${loops[@]}"; do
            awk "BEGIN { print $engines / $(tail -n 1 "$folder/loop-$kind") }" >> "$folder/ratio-$kind"
        done
    done
    # The number of samples that the engines compute in that time: LoadGen issues a tenth more than the expected rate.
    qps=$(awk "BEGIN { print $engines / 1.1 }")
    tax=$("$bin/loadgen-node" tax --node-config "$folder/node.toml" --rounds "$rounds" --output "$folder/tax-$size" -- \
        --scenario offline --benchmark sweep --dataset "$dataset" --quiet \
        --setting "offline_expected_qps=$qps" --setting "min_duration_ms=${seconds}000" 2> "$folder/log" \
        | sed -n 's/^  median \([0-9.]*\), \([0-9.]*\) to \([0-9.]*\) in.*/\1 (\2 – \3)/p') || { cat "$folder/log"; exit 1; }
    echo "| $size | $(spread loop-waits %.1f) | $(spread loop-overlaps %.1f) | $(spread engines %.1f) | $(spread ratio-waits %.3f) |" \
        "$(spread ratio-overlaps %.3f) | $tax |"
done
