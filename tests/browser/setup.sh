# shellcheck shell=bash
# Programs, browser and nodes for the scripts of this folder, which include it. It needs root on Debian 12: it installs chromium with apt, and
# playwright-core with npm. Settings from the environment:
#   BIN  folder of the programs
#   OUT  folder for the pages and the screenshots
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BIN=$(realpath "${BIN:-$here/../../target/release}")
mkdir -p "$OUT"
OUT=$(realpath "$OUT")

. "$here/../deploy/common.sh"
command -v chromium >/dev/null || install chromium fonts-dejavu-core
command -v npm >/dev/null || install nodejs npm
npm install --silent --no-save --no-audit --no-fund --prefix "$OUT" playwright-core@1.56.1

nodes=()
trap 'kill "${nodes[@]}" 2>/dev/null || true' EXIT
start() {
    rm -f "$OUT/$1.ready"
    "$BIN/sut-node" --name "$@" --listen 127.0.0.1:0 --ready-file "$OUT/$1.ready" 2>"$OUT/$1.log" &
    nodes+=($!)
    for _ in $(seq 200); do
        [ -s "$OUT/$1.ready" ] && return
        sleep 0.05
    done
    cat "$OUT/$1.log" >&2
    exit 1
}
address() { sed 's/.*"grpc":"\([^"]*\)".*/\1/' "$OUT/$1.ready"; }
