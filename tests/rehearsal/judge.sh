#!/usr/bin/env bash
# Checks the tree of a rehearsal with the official checkers that support its round, and tests that netdiv's `check` detects edits.
#
#   tests/rehearsal/judge.sh TREE OUT MLCOMMONS ROUND DIVISION KIND
#
# MLCOMMONS is a clone of mlcommons/inference, for the checkers of tags v5.0.1 and v5.1.1 and of its newest commit. They and their output
# are written to OUT. KIND is a key of CAUSES in accepted.py. CHECKER_PYTHON has their packages (requirements.txt); BIN is the programs' folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(realpath "$1") out=$(realpath "$2") mlcommons=$(realpath "$3") round=$4 division=$5 kind=$6
python=${CHECKER_PYTHON:-python3}
# For ResNet50 the clone has a tag checked out, so that HEAD is not the newest commit.
newest=HEAD
git -C "$mlcommons" rev-parse --quiet --verify origin/HEAD >/dev/null && newest=origin/HEAD
case $round in
    v5.0) tags=(v5.0.1 "$newest") ;;
    v5.1) tags=(v5.1.1 "$newest") ;;
    *) tags=("$newest") ;;
esac
for tag in "${tags[@]}"; do
    echo "== the official checker of $tag"
    checker=$out/checker-${tag/\//-}
    rm -rf "$checker"
    mkdir "$checker"
    git -C "$mlcommons" archive "$tag:tools/submission" -- ':!directory_structure_samples' | tar -x -C "$checker"
    cd "$checker"
    if [ -e submission_checker.py ]; then command=(submission_checker.py); else command=(-m submission_checker.main); fi
    "$python" "${command[@]}" --input "$tree" --version "$round" --submitter Rehearsal \
        >"$checker.txt" 2>&1 || true
    faults=$kind
    if [ "$kind-$tag" = "pictures-$newest" ]; then faults=pictures-newest-$division; fi
    "$python" "$here/accepted.py" "$faults" "$checker.txt"
done
echo "== edits"
"$python" "$here/edits.py" "$BIN/loadgen-node" "$tree" "$division"
