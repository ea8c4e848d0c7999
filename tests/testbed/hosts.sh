# shellcheck shell=bash
# Hosts on one machine: a network namespace each. To be sourced by bash.

# Ends with words when a program is missing, or the right to make namespaces.
need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "$program is missing; install it (iproute2 has ip)" >&2; exit 2; }
    done
    [ "$(id -u)" = 0 ] || { echo "network namespaces need root" >&2; exit 2; }
}

# Gives a host's interface its address and turns it on: HOST INTERFACE ADDRESS/LENGTH.
settle() {
    ip -n "$1" address add "$3" dev "$2"
    ip -n "$1" link set lo up
    ip -n "$1" link set "$2" up
}

# Ends what runs on a host, and removes it with its interfaces.
remove_host() {
    local left
    for left in $(ip netns pids "$1" 2>/dev/null); do kill -KILL "$left" 2>/dev/null || true; done
    ip netns del "$1" 2>/dev/null || true
}
