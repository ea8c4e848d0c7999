#!/usr/bin/env bash
# Rehearses a submission of ResNet50 to the Network division on one machine: two network namespaces stand for two
# hosts, the engine `echo` for the model, and tests/rehearsal/data.py makes the data.
#
#   tests/rehearsal/rehearse.sh OUT
#
# It makes accuracy and performance runs, digests and compliance tests for Offline and Server, side by side, then a
# submission of them, and checks it. With CHECKER, a checkout of mlcommons/inference, the official checker is run too.
# Last, it builds the sources in the tree, as their README says.
# It needs root, iproute2, python3, Rust and the release build of both programs. What comes out is no MLPerf result.
# Settings from the environment:
#   MS        least duration of a performance run, in ms; the rules ask for 600000
#   SAMPLES   samples of the data set; ImageNet has 50000
#   ROUND     v5.0 (the default), v5.1 or v6.0
#   CHECKER   the folder tools/submission of a checkout of mlcommons/inference, of a tag or of the main branch
#   PYTHON    the Python that runs it; the main branch's needs PyYAML
#   BIN       folder of the programs
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../testbed/hosts.sh"
need ip python3
BIN=$(realpath "${BIN:-$here/../../target/release}")
OUT=${1:?where to: rehearse.sh OUT}
MS=${MS:-600000}
SAMPLES=${SAMPLES:-50000}
ROUND=${ROUND:-v5.0}
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
unset RUST_LOG

# Other rehearsals may be under way.
lg=netdiv-lg-$$ sut=netdiv-sut-$$
cleanup() {
    remove_host "$lg"
    remove_host "$sut"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

ip netns add "$lg"
ip netns add "$sut"
ip link add lg0 netns "$lg" type veth peer name sut0 netns "$sut"
settle "$lg" lg0 10.232.0.1/24
settle "$sut" sut0 10.232.0.2/24

python3 "$here/data.py" "$OUT" --samples "$SAMPLES"

# Two nodes of their own for each scenario, so that both can run at the same time: a node, and its port.
start_node() {
    local log="$OUT/$1-$2.log" ready="$OUT/$1-$2.json"
    rm -f "$ready"
    ip netns exec "$sut" "$BIN/sut-node" --insecure --name "$1" --listen "10.232.0.2:$2" --engine echo \
        --echo-answer-bytes 4 --echo-sample 2ms --max-batch 64 --batch-timeout 500us \
        --ready-file "$ready" 2>"$log" &
    disown
    for _ in $(seq 100); do
        [ -e "$ready" ] && return
        sleep 0.1
    done
    cat "$log" >&2
    exit 1
}
for ports in "50051 50052" "50061 50062"; do
    read -r a b <<<"$ports"
    start_node node-a "$a"
    start_node node-b "$b"
done

cat >"$OUT/user.conf" <<CONF
resnet50.Offline.target_qps = 1100
resnet50.Server.target_qps = 200
CONF

loadgen() { ip netns exec "$lg" "$BIN/loadgen-node" "$@"; }
scale=()
if [ "$MS" != 600000 ]; then scale=(--setting "min_duration_ms=$MS"); fi

scenario() {
    local name=$1 nodes=$2
    local run=(run --division network --rehearsal --insecure --nodes "$nodes" --scenario "$name"
        --benchmark resnet50 --dataset "$OUT/samples.npy" --labels "$OUT/labels.npy" --user-conf "$OUT/user.conf"
        --performance-samples 1024)
    loadgen "${run[@]}" --mode accuracy --output "$OUT/$name/accuracy"
    loadgen "${run[@]}" "${scale[@]}" --output "$OUT/$name/performance" || echo "$name performance" >>"$OUT/not-valid"
    loadgen "${run[@]}" --setting min_duration_ms=10000 --digests --output "$OUT/$name/digests" || echo "$name digests" >>"$OUT/not-valid"
    loadgen audit --performance "$OUT/$name/performance" --accuracy "$OUT/$name/accuracy" \
        --output "$OUT/$name/compliance" || echo "$name compliance" >>"$OUT/not-valid"
}
rm -f "$OUT/not-valid"
scenario offline 10.232.0.2:50051,10.232.0.2:50052 >"$OUT/offline.txt" 2>&1 &
offline=$!
scenario server 10.232.0.2:50061,10.232.0.2:50062 >"$OUT/server.txt" 2>&1 || { cat "$OUT/server.txt"; exit 1; }
wait "$offline" || { cat "$OUT/offline.txt"; exit 1; }
cat "$OUT/offline.txt" "$OUT/server.txt"

sed "s/@ROUND@/$ROUND/" "$here/submission.toml" >"$OUT/submission.toml"
cp "$here/calibration.md" "$OUT/"
rm -rf "$OUT/tree"
"$BIN/loadgen-node" submission --settings "$OUT/submission.toml" --output "$OUT/tree" --rehearsal

echo "== check"
"$BIN/loadgen-node" check "$OUT/tree" || true
if [ -n "${CHECKER:-}" ]; then
    echo "== the official checker"
    # A file in tags, a module on the main branch.
    if [ -e "$CHECKER/submission_checker.py" ]; then checker=submission_checker.py; else checker="-m submission_checker.main"; fi
    # shellcheck disable=SC2086
    (cd "$CHECKER" && "${PYTHON:-python3}" $checker --input "$OUT/tree" --version "$ROUND" --csv "$OUT/summary.csv") || true
fi
echo "== the sources in the tree, built by the command of their README"
rm -rf "$OUT/sources"
cp -r "$OUT"/tree/network/*/*/netdiv "$OUT/sources"
# shellcheck disable=SC2016 # backquotes of Markdown
command=$(sed -n '/^```sh$/,/^```$/{//!p}' "$OUT/sources/README.md" | head -1)
echo "$command"
(cd "$OUT/sources" && env -u CARGO_TARGET_DIR bash -euc "$command")
for program in loadgen-node sut-node; do "$OUT/sources/target/release/$program" --version; done
if [ -e "$OUT/not-valid" ]; then
    echo "== runs that are not valid, or tests that do not pass (too short, or this machine was busy)"
    cat "$OUT/not-valid"
    exit 1
fi
