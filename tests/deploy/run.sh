#!/usr/bin/env bash
# Tests `deploy/` with the real tools: Slurm, containers, systemd, Kubernetes' schemas, DNS, Prometheus, MLCFlow.
#
#   tests/deploy/run.sh [STEP…]
#
# Each step is a script in `steps`; without arguments all of them run. The script needs root on Debian 12: steps install packages
# with apt. Exit code 1: a step failed. Settings from the environment:
#   BIN  folder of the programs
#   OUT  folder for logs and files of the steps: OUT/STEP.log, OUT/STEP/
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
BIN=$(realpath "${BIN:-$here/../../target/release}") || exit 2
mkdir -p "${OUT:=$here/../../out/deploy-test}" || exit 2
OUT=$(realpath "$OUT")
export BIN

if [ "$(id -u)" != 0 ]; then
    echo "deploy-test needs root: its steps install packages and create namespaces" >&2
    exit 2
fi
for program in loadgen-node sut-node; do
    if ! [ -x "$BIN/$program" ]; then
        echo "$BIN/$program is missing: build it with \`make build\`, or set BIN to its folder" >&2
        exit 2
    fi
done

if [ $# = 0 ]; then
    for script in "$here"/steps/*.sh; do set -- "$@" "$(basename "$script" .sh)"; done
fi
for step; do
    if ! [ -f "$here/steps/$step.sh" ]; then
        echo "unknown step $step; expected one of:" "$(cd "$here/steps" && echo ./*.sh | sed 's/\.sh//g; s/\.\///g')" >&2
        exit 2
    fi
done

# Prints what a step shows, which is its first comment.
shows() { sed -n '2s/^# //p' "$here/steps/$1.sh"; }

table=()
failed=0
for step; do
    log=$OUT/$step.log
    rm -rf "${OUT:?}/$step"
    mkdir -p "$OUT/$step"
    echo "== $step: $(shows "$step")"
    SECONDS=0
    OUT="$OUT/$step" bash "$here/steps/$step.sh" </dev/null 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
    case $code in
    0) outcome=shown ;;
    # The last line is the reason.
    77) outcome="not possible here: $(tail -n 1 "$log")" ;;
    *)
        outcome="FAILED, exit code $code: $log"
        failed=1
        ;;
    esac
    table+=("| $step | $outcome | ${SECONDS} s |")
done

echo
echo "| step | outcome | time |"
echo "|---|---|---|"
printf '%s\n' "${table[@]}"
exit "$failed"
