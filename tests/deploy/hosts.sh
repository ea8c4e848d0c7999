# shellcheck shell=bash
# Functions for the hosts of a step: network namespaces nd1, nd2, … with the addresses 10.232.0.1, … and host names, behind a bridge at
# 10.232.0.254. Source it in the step's namespaces (in_namespaces of common.sh), whose end removes the hosts.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$repository/tests/testbed/hosts.sh"

# Makes hosts: NUMBER.
new_hosts() {
    local n
    mount -t tmpfs none /run
    ip link set lo up
    ip link add name bridge type bridge
    ip address add 10.232.0.254/24 dev bridge
    ip link set bridge up
    for n in $(seq "$1"); do
        ip netns add "nd$n"
        ip link add name "nd$n" type veth peer name eth0 netns "nd$n"
        ip link set "nd$n" master bridge up
        settle "nd$n" eth0 "10.232.0.$n/24"
    done
}

# Runs a command on a host: HOST COMMAND…
on_host() {
    # `ip netns exec` would mount another /sys; nsenter changes only the network.
    # shellcheck disable=SC2016 # the inner shell expands it
    nsenter --net="/run/netns/$1" unshare --uts bash -c 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"' "$@"
}

# Mounts the programs at /mnt/bin, where all users can read them.
share_programs() {
    mount -t tmpfs none /mnt
    mkdir /mnt/bin
    mount --bind "$BIN" /mnt/bin
    chmod 755 /mnt
}

# Writes standard input to /etc/hosts of all hosts.
know_hosts() {
    { echo '127.0.0.1 localhost'; cat; } >/run/hosts
    mount --bind /run/hosts /etc/hosts
}
