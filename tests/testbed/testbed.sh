#!/usr/bin/env bash
# Makes several hosts on one machine, with faults between them.
#
#   testbed.sh up N               makes hosts 1 to N: network namespaces netdiv-1 to netdiv-N, 10.231.0.1 to 10.231.0.N
#   testbed.sh exec HOST COMMAND… runs a command on a host
#   testbed.sh fault A B WORDS…   changes the path from A to B, not back (relay.py lists the settings); * is every host
#   testbed.sh report             prints what each path has sent, lost and damaged, as JSON
#   testbed.sh seed N             restarts random numbers and counters: the same seed loses the same frames
#   testbed.sh down               kills the hosts' processes and removes the hosts
#   testbed.sh with N COMMAND…    makes hosts, runs a command, and removes the hosts in any case
#
# The switch relay.py connects the hosts. The script needs root, iproute2, ethtool and python3.
# Settings from the environment:
#   TESTBED   name, for several test beds at the same time: at most 8 letters (netdiv)
#   CC        congestion control of TCP (cubic)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/hosts.sh"
TESTBED=${TESTBED:-netdiv}
CC=${CC:-cubic}
state=/run/$TESTBED-testbed
# Maximum for a relay in Python.
MOST_HOSTS=50

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
}

offloads_off() { "$@" tx off rx off sg off tso off gso off gro off >/dev/null; }

# Makes a host. Its end of the link in the root namespace has the host's name.
new_host() {
    local name=$TESTBED-$1
    ip netns add "$name"
    ip link add "$name" type veth peer name eth0 netns "$name"
    # The root namespace has no address there and must send nothing.
    sysctl -qw "net.ipv6.conf.$name.disable_ipv6=1"
    ip netns exec "$name" sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1
    offloads_off ethtool -K "$name"
    offloads_off ip netns exec "$name" ethtool -K eth0
    # TCP must not use metrics of an earlier run.
    ip netns exec "$name" sysctl -qw net.ipv4.tcp_no_metrics_save=1
    settle "$name" eth0 "10.231.0.$1/24"
    ip link set "$name" up
    # A namespace cannot set a default congestion control, but a route can.
    ip -n "$name" route replace 10.231.0.0/24 dev eth0 src "10.231.0.$1" congctl "$CC"
}

# Writes every host's address into the other hosts' neighbour tables: a lost ARP packet would cost a second.
introduce() {
    local a b mac
    for a in $(seq "$1"); do
        mac=$(ip netns exec "$TESTBED-$a" cat /sys/class/net/eth0/address)
        for b in $(seq "$1"); do
            [ "$a" = "$b" ] || ip -n "$TESTBED-$b" neigh replace "10.231.0.$a" lladdr "$mac" dev eth0 nud permanent
        done
    done
}

up() {
    local n=$1 host interfaces=()
    if [[ ! $n =~ ^[0-9]+$ ]] || [ "$n" -lt 2 ] || [ "$n" -gt "$MOST_HOSTS" ]; then usage; fi
    if ! mkdir "$state" 2>/dev/null; then
        echo "a test bed $TESTBED is already up; take it down first, or choose another name (TESTBED=…)" >&2
        exit 2
    fi
    trap down EXIT
    trap 'exit 1' INT TERM
    for host in $(seq "$n"); do
        new_host "$host"
        interfaces+=("$TESTBED-$host")
    done
    introduce "$n"
    setsid python3 "$here/relay.py" run --control "$state/relay" "${interfaces[@]}" \
        </dev/null >"$state/log" 2>&1 &
    echo $! >"$state/pid"
    for _ in $(seq 100); do
        if [ -S "$state/relay" ]; then
            trap - EXIT INT TERM
            return
        fi
        sleep 0.05
    done
    cat "$state/log" >&2
    exit 1
}

down() {
    local host pid
    for host in $(ip netns list | grep -o "^$TESTBED-[0-9]*" || true); do
        remove_host "$host"
        ip link del "$host" 2>/dev/null || true
    done
    pid=$(cat "$state/pid" 2>/dev/null) || true
    # Another process may have the id now.
    if [ -n "$pid" ] && grep -qs relay.py "/proc/$pid/cmdline"; then
        kill "$pid" 2>/dev/null || true
    fi
    rm -rf "$state"
}

[ $# -ge 1 ] || usage
command=$1
shift
need ip ethtool python3 setsid
case $command in
up)
    [ $# = 1 ] || usage
    up "$1"
    ;;
exec)
    [ $# -ge 2 ] || usage
    host=$1
    shift
    exec ip netns exec "$TESTBED-$host" "$@"
    ;;
fault)
    [ $# -ge 3 ] || usage
    python3 "$here/relay.py" tell "$state/relay" "$@"
    ;;
report) python3 "$here/relay.py" tell "$state/relay" report ;;
seed)
    [ $# = 1 ] || usage
    python3 "$here/relay.py" tell "$state/relay" seed "$1"
    ;;
down) down ;;
with)
    [ $# -ge 2 ] || usage
    n=$1
    shift
    up "$n"
    trap down EXIT
    trap 'exit 1' INT TERM
    code=0
    "$@" || code=$?
    exit "$code"
    ;;
*) usage ;;
esac
