#!/usr/bin/env bash
# A Slurm cluster on this machine, then a command on it: slurmctld, and three slurmd on hosts nd1 to nd3, each with a
# network and a host name of its own, behind a bridge. /cluster is their shared storage: programs, deploy/, home/.
#
# To be run in mount, process and network namespaces of its own (steps/slurm.sh): they are what ends it all.
. "$(dirname "$0")/../common.sh"

mount -t tmpfs none /run
mount -t tmpfs none /mnt
cluster=/mnt/cluster
mkdir -p "$cluster"/{bin,deploy,home,state,log} /run/munge
mount --bind "$BIN" "$cluster/bin"
mount --bind "$repository/deploy" "$cluster/deploy"
chmod 755 /mnt "$cluster"
chown nobody "$cluster/home"

cat >/run/hosts <<'END'
127.0.0.1 localhost
10.232.0.254 control
10.232.0.1 nd1
10.232.0.2 nd2
10.232.0.3 nd3
END
mount --bind /run/hosts /etc/hosts

head -c 128 /dev/urandom >/run/munge/key
chmod 600 /run/munge/key
# Its folders are made anew for root, who runs everything here but the jobs.
munged --force --key-file=/run/munge/key --socket=/run/munge/socket --pid-file=/run/munge/pid \
    --log-file="$cluster/log/munged" --seed-file=/run/munge/seed

cat >/run/slurm.conf <<END
ClusterName=netdiv
SlurmctldHost=control(10.232.0.254)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/socket
CredType=cred/munge
StateSaveLocation=$cluster/state/control
SlurmdSpoolDir=$cluster/state/%n
SlurmctldLogFile=$cluster/log/slurmctld
SlurmdLogFile=$cluster/log/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=30
NodeName=nd[1-3] CPUs=2 RealMemory=512 State=UNKNOWN
PartitionName=all Nodes=nd[1-3] Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=/run/slurm.conf

ip link set lo up
ip link add name bridge type bridge
ip address add 10.232.0.254/24 dev bridge
ip link set bridge up
# shellcheck disable=SC2016 # the inner shell expands it
hostname_of() { unshare --uts bash -c 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"' "$@"; }
(hostname_of control slurmctld -D >"$cluster/log/slurmctld.out" 2>&1 &)
for n in 1 2 3; do
    mkdir -p "$cluster/state/nd$n"
    ip netns add "nd$n"
    ip link add name "nd$n" type veth peer name eth0 netns "nd$n"
    ip link set "nd$n" master bridge up
    ip -n "nd$n" link set lo up
    ip -n "nd$n" address add "10.232.0.$n/24" dev eth0
    ip -n "nd$n" link set eth0 up
    # `ip netns exec` would mount another /sys; nsenter changes the network alone.
    (hostname_of "nd$n" nsenter --net="/run/netns/nd$n" slurmd -D -N "nd$n" >"$cluster/log/nd$n.out" 2>&1 &)
done

idle() { [ "$(sinfo --noheader --format='%D %t')" = "3 idle" ]; }
if ! within 60 idle; then
    sinfo --long --Node || true
    tail -n 20 "$cluster"/log/*
    not_possible_here "slurmctld and three slurmd do not come up here; their logs are above"
fi
"$@"
