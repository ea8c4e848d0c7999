#!/usr/bin/env bash
# Rehearses a submission of ResNet50 on one machine, from `loadgen-node init` to the official checker:
#
#   tests/rehearsal/rehearse.sh OUT MLCOMMONS
#
# Three network namespaces represent three hosts, and pairs of virtual interfaces the cables. Weights and pictures are random, and the
# engine is torch on the processor. deploy/submit.sh makes the runs and the tree. Then the official checkers of tag v5.0.1 and of the
# newest commit may report only errors about accuracy, duration, number of samples and latency bound, and netdiv's `check` must detect
# edits. MLCOMMONS is a clone of mlcommons/inference with v5.0.1 checked out. An unfinished OUT is continued. The script needs root,
# iproute2 and both programs. The results are not MLPerf results. Settings from the environment:
#   PYTHON          Python 3.11 or newer with torch, torchvision and Pillow (deploy/models/requirements.txt)
#   CHECKER_PYTHON  Python with the packages of the official checkers [default: python3]
#   BIN             folder of the programs [default: target/release]
#   MS              minimum duration of a performance run, in ms [default: 10000]
#   RATE            pictures per second that both nodes classify together [default: measured]
#   SAMPLES         number of pictures, at least 1024 [default: 1024]
#   DIVISION        network or closed [default: network]
#   BUILD=1         at the end, also build the sources in the tree, as their README describes
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
usage="rehearse.sh OUT MLCOMMONS, a clone of mlcommons/inference with tag v5.0.1 checked out"
out=${1:?OUT is missing: $usage}
MLCOMMONS=$(realpath "${2:?MLCOMMONS is missing: $usage}")
checker=$MLCOMMONS/tools/submission/submission_checker.py
[ -e "$checker" ] || { echo "$checker is missing: run git checkout v5.0.1 in $MLCOMMONS" >&2; exit 2; }
git -C "$MLCOMMONS" rev-parse --quiet --verify origin/HEAD >/dev/null || {
    echo "$MLCOMMONS does not name its newest commit: run git remote set-head origin --auto there" >&2
    exit 2
}
SAMPLES=${SAMPLES:-1024}
DIVISION=${DIVISION:-network}
. "$here/two_nodes.sh"
PYTHON=$(realpath -s "${PYTHON:-$root/target/models-venv/bin/python}")
export PYTHON
files=$out/resnet50

# Makes model, pictures and data set, and the files of a submitter.
prepare() {
    echo "== model and pictures"
    "$PYTHON" "$root/deploy/models/export.py" resnet50 --output "$out/models"
    "$PYTHON" "$here/pictures.py" "$out/imagenet" --count "$SAMPLES"
    "$root/deploy/data/prepare" resnet50 --from "$out/imagenet" --form jpeg --first "$SAMPLES" --incomplete --output "$out/data"
    local rate
    rate=${RATE:-$("$BIN/sut-node" bench --engine torch --model "$out/models/resnet50-jpeg.toml" \
        --dataset "$out/data/imagenet-jpeg" --max-batch 8 --seconds 5 | sed -n 's/^ *samples per second *//p')}
    echo "$rate pictures per second"

    echo "== settings"
    rm -rf "$files"
    "$BIN/loadgen-node" init resnet50 --scenario server --division "$DIVISION" --nodes 10.232.0.2,10.232.1.2 --rate "$rate" --output "$files"
    "$PYTHON" "$here/fill.py" "$files" --data "$out/data" --model "$out/models/resnet50-jpeg.toml" --rate "$rate" --ms "$MS"
    "$BIN/loadgen-node" certificates --hosts 10.232.0.2,10.232.1.2 --output "$files/certificates" >/dev/null
    touch "$out/prepared"
}
[ -e "$out/prepared" ] || prepare
cd "$files"
rm -f checker.txt

start_node "$a" node-a 10.232.0.2 --config node.toml --threads 1
start_node "$b" node-b 10.232.1.2 --config node.toml --threads 1
start_node "$a" fabric-a 10.232.0.2 --engine none --listen 0.0.0.0:50052
start_node "$b" fabric-b 10.232.1.2 --engine none --listen 0.0.0.0:50052

submit() {
    ip netns exec "$lg" "$root/deploy/submit.sh" "$files" --reference "$MLCOMMONS" \
        --fabric-nodes 10.232.0.2:50052,10.232.1.2:50052 "$@" 2>&1 | tee "$out/submit.txt"
}
submit --dry-run
# A compliance test may differ from the performance run by 10 %. If this machine was busy, both are made again.
for _ in 1 2 3; do
    submit && break
    scenario=$(sed -n 's/^submit.sh: \(.*\) TEST[0-9]*: did not pass.*/\1/p' "$out/submit.txt")
    [ -n "$scenario" ] || break
    mv "runs/$scenario/performance" "$out/$scenario-performance-$SECONDS"
done
[ -e checker.txt ] || { echo "submit.sh ended before the official checker" >&2; exit 1; }

if [ "${BUILD:-}" = 1 ]; then
    echo "== the sources in the tree, built by the command of their README"
    rm -rf "$out/sources"
    cp -r tree/"$DIVISION"/*/*/netdiv "$out/sources"
    # shellcheck disable=SC2016 # backquotes of Markdown
    command=$(sed -n '/^```sh$/,/^```$/{//!p}' "$out/sources/README.md" | head -1)
    echo "$command"
    (cd "$out/sources" && env -u CARGO_TARGET_DIR bash -euc "$command")
    for program in loadgen-node sut-node; do "$out/sources/target/release/$program" --version; done
fi

"$here/judge.sh" tree "$out" "$MLCOMMONS" v5.0 "$DIVISION" pictures
