# shellcheck shell=bash
# Functions for hosts on one machine, each a network namespace. Source it in bash.

# Exits with an error if a program is missing, or if the user is not root.
need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "$program is missing; install it (iproute2 has ip)" >&2; exit 2; }
    done
    [ "$(id -u)" = 0 ] || { echo "network namespaces need root" >&2; exit 2; }
}

# Configures the address of a host's interface and turns the interface on: HOST INTERFACE ADDRESS/LENGTH.
settle() {
    ip -n "$1" address add "$3" dev "$2"
    ip -n "$1" link set lo up
    ip -n "$1" link set "$2" up
}

# Kills the processes of a host, and waits up to 5 s for their end: HOST.
stop_processes() {
    local left
    for _ in $(seq 50); do
        left=$(ip netns pids "$1" 2>/dev/null) && [ -n "$left" ] || return 0
        # shellcheck disable=SC2086 # a word for each process
        kill -KILL $left 2>/dev/null || true
        sleep 0.1
    done
}

# Kills the processes of a host, and removes it with its interfaces: HOST.
remove_host() {
    stop_processes "$1"
    ip netns del "$1" 2>/dev/null || true
}
