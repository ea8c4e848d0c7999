#!/usr/bin/env bash
# Runs LoadGen on full file systems and with too few descriptors. Each run must succeed, or end with exit code 2 or 3 and the reason, and
# the same command must succeed once there is room.
#
#   tests/testbed/exhausted.sh
#
# The script mounts small file systems (tmpfs), so it needs root. Settings from the environment:
#   BIN  folder of the programs
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
BIN=$(realpath "${BIN:-$here/../../target/release}")
OUT=$(mktemp -d)
mkdir "$OUT/disk"
unset RUST_LOG
wrong=0
failed=0

trap 'kill "$node" 2>/dev/null || true; umount "$OUT/disk" 2>/dev/null || true; rm -rf "$OUT"' EXIT
trap 'exit 1' INT TERM
"$BIN/sut-node" --name a --listen 127.0.0.1:0 --engine echo --ready-file "$OUT/node.json" 2>"$OUT/node.log" &
node=$!
for _ in $(seq 200); do
    if [ -e "$OUT/node.json" ]; then break; fi
    sleep 0.05
done
address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["grpc"])' "$OUT/node.json")

# Runs LoadGen with its output on the small file system.
run() {
    "$BIN/loadgen-node" run --nodes "$address" --quiet --benchmark fabric --dataset synthetic:500x1000 \
        --scenario offline --mode accuracy --min-free-bytes 0 --connect-timeout 60s --output "$OUT/disk/out"
}

# Tests a case: TITLE MOUNT-OPTIONS DESCRIPTORS.
try() {
    local title=$1 options=$2 descriptors=$3 code=0 complaint=''
    mount -t tmpfs -o "$options" tmpfs "$OUT/disk"
    (
        ulimit -n "$descriptors"
        run
    ) >"$OUT/said.txt" 2>&1 || code=$?
    case $code in
    0) ;;
    2 | 3)
        failed=$((failed + 1))
        grep -qE 'No space left|Too many open files|bytes free|its end is missing|limit of open files' "$OUT/said.txt" ||
            complaint='it reports no reason'
        if grep -qs '"verdict": "COMPLETE"' "$OUT/disk/out/result.json"; then complaint="$complaint; it looks complete"; fi
        ;;
    *) complaint="exit code $code" ;;
    esac
    if [ -e "$OUT/disk/out/run.lock" ]; then complaint="$complaint; run.lock is left"; fi
    # With room, the same command must succeed: directly if it was rejected, in another folder if a run failed.
    mount -o remount,nr_inodes=1000,size=100m "$OUT/disk"
    if [ -n "$(ls -A "$OUT/disk/out" 2>/dev/null)" ]; then mv "$OUT/disk/out" "$OUT/disk/failed"; fi
    run >"$OUT/next.txt" 2>&1 || complaint="$complaint; the next run: exit code $?"
    umount "$OUT/disk"
    echo "| $title | $code | ${complaint:-as expected} |"
    if [ -n "$complaint" ]; then
        wrong=1
        tail -n 5 "$OUT/said.txt" "$OUT/next.txt" >&2
    fi
}

echo "| limit | exit code | result |"
echo "|---|---|---|"
for files in $(seq 2 14); do
    try "$files files" "size=10m,nr_inodes=$files" 1024
done
for kib in $(seq 4 8 140); do
    try "$kib KiB" "size=${kib}k" 1024
done
for descriptors in $(seq 12 20); do
    try "$descriptors descriptors" "size=10m" "$descriptors"
done
# The test is meaningless if all limits are too high.
[ "$failed" -gt 10 ] || { echo "only $failed runs reached a limit" >&2; wrong=1; }
if ! kill "$node"; then wrong=1; fi
if grep -l panicked "$OUT"/*.txt "$OUT"/*.log; then wrong=1; fi
exit "$wrong"
