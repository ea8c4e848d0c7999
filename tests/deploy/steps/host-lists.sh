#!/usr/bin/env bash
# the recorded host lists, which a unit test compares with our parser, are those of `scontrol show hostnames`
. "$(dirname "$0")/../common.sh"
install slurm-client

# scontrol wants settings, though it reads nothing of them here.
printf 'ClusterName=none\nSlurmctldHost=none\n' >"$OUT/slurm.conf"
export SLURM_CONF=$OUT/slurm.conf
lists=0
while read -r list names; do
    hosts=$(scontrol show hostnames "$list" | paste -sd' ')
    [ "$hosts" = "$names" ] || fail "$list is \"$hosts\" to scontrol, and \"$names\" in the record"
    lists=$((lists + 1))
done <"$repository/proto/transport/src/discovery/host_lists.txt"
[ "$lists" -gt 10 ] || fail "there are $lists host lists only"
echo "$lists host lists as scontrol $(scontrol --version) reads them"
