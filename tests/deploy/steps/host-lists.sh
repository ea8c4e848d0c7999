#!/usr/bin/env bash
# the recorded host lists, which a unit test compares with netdiv's parser, match `scontrol show hostnames`
. "$(dirname "$0")/../common.sh"
install slurm-client

# scontrol requires settings, although it does not use them here.
printf 'ClusterName=none\nSlurmctldHost=none\n' >"$OUT/slurm.conf"
export SLURM_CONF=$OUT/slurm.conf
lists=0
while read -r list names; do
    hosts=$(scontrol show hostnames "$list" | paste -sd' ')
    [ "$hosts" = "$names" ] || fail "$list is \"$hosts\" according to scontrol, but \"$names\" in the record"
    lists=$((lists + 1))
done <"$repository/proto/transport/src/discovery/host_lists.txt"
[ "$lists" -gt 10 ] || fail "only $lists host lists"
echo "$lists host lists match $(scontrol --version)"
