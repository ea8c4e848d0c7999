# shellcheck shell=bash
# Hosts of a step: network namespaces nd1, nd2, … with the addresses 10.232.0.1, … and host names, behind a bridge at 10.232.0.254.
# To be sourced in namespaces of the step's own (in_namespaces of common.sh), which are what ends it all.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$repository/tests/testbed/hosts.sh"

# Makes this many.
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
    # `ip netns exec` would mount another /sys; nsenter changes the network alone.
    # shellcheck disable=SC2016 # the inner shell expands it
    nsenter --net="/run/netns/$1" unshare --uts bash -c 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"' "$@"
}

# The programs where every user can read them.
share_programs() {
    mount -t tmpfs none /mnt
    mkdir /mnt/bin
    mount --bind "$BIN" /mnt/bin
    chmod 755 /mnt
}

# What every host reads in /etc/hosts.
know_hosts() {
    { echo '127.0.0.1 localhost'; cat; } >/run/hosts
    mount --bind /run/hosts /etc/hosts
}
