# shellcheck shell=bash disable=SC2154 # the script that sources this file sets here and out
# Makes hosts for a LoadGen node and two SUT nodes on one machine. Source it in bash, with `here` set to this folder and `out` to the
# folder of the rehearsal; start nodes in a folder with certificates/. Sets `root`, BIN, MS and CHECKER_PYTHON, and makes `out` absolute.
. "$here/../testbed/hosts.sh"
need ip python3

root=$(cd "$here/../.." && pwd)
BIN=$(realpath "${BIN:-$root/target/release}")
MS=${MS:-10000}
CHECKER_PYTHON=$(realpath -s "$(command -v "${CHECKER_PYTHON:-python3}")")
"$CHECKER_PYTHON" -c "import numpy, pandas, yaml" 2>/dev/null || {
    echo "$CHECKER_PYTHON lacks a package of tests/rehearsal/requirements.txt: install it, or set CHECKER_PYTHON" >&2
    exit 2
}
export BIN CHECKER_PYTHON
unset RUST_LOG
mkdir -p "$out"
out=$(realpath "$out")

# Unique names, since other rehearsals may be running.
lg=netdiv-lg-$$ a=netdiv-a-$$ b=netdiv-b-$$
cleanup() {
    for host in "$lg" "$a" "$b"; do remove_host "$host"; done
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# Connects a node's host to the LoadGen node: HOST NUMBER.
cable() {
    ip link add "lg$2" netns "$lg" type veth peer name sut0 netns "$1"
    settle "$lg" "lg$2" "10.232.$2.1/24"
    settle "$1" sut0 "10.232.$2.2/24"
}
ip netns add "$lg"
ip netns add "$a"
ip netns add "$b"
cable "$a" 0
cable "$b" 1

# Stops all nodes.
stop_nodes() {
    stop_processes "$a"
    stop_processes "$b"
}

# Starts a SUT node and waits until it is ready: HOST NAME ADDRESS OPTION…
start_node() {
    local host=$1 name=$2 address=$3 ready=$out/$2.json
    shift 3
    rm -f "$ready"
    ip netns exec "$host" "$BIN/sut-node" --name "$name" --ready-file "$ready" --tls-client-ca certificates/ca.pem \
        --tls-certificate "certificates/$address.pem" --tls-key "certificates/$address.key" "$@" 2>"$out/$name.log" &
    disown
    for _ in $(seq 600); do
        [ -e "$ready" ] && return
        sleep 0.1
    done
    cat "$out/$name.log" >&2
    exit 1
}
