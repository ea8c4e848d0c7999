#!/usr/bin/env bash
# Starts a Slurm cluster on this machine, slurmctld and three slurmd on hosts nd1 to nd3, and runs a command on it: COMMAND…
# /mnt is the hosts' shared storage: bin/ with the programs, deploy/, home/.
. "$(dirname "$0")/../hosts.sh"

new_hosts 3
share_programs
know_hosts <<'END'
10.232.0.254 control
10.232.0.1 nd1
10.232.0.2 nd2
10.232.0.3 nd3
END
mkdir -p /mnt/{deploy,home,state,log} /run/munge
mount --bind "$repository/deploy" /mnt/deploy
chown nobody /mnt/home

head -c 128 /dev/urandom >/run/munge/key
chmod 600 /run/munge/key
# New folders, since root runs everything except the jobs.
munged --force --key-file=/run/munge/key --socket=/run/munge/socket --pid-file=/run/munge/pid \
    --log-file="/mnt/log/munged" --seed-file=/run/munge/seed

cat >/run/slurm.conf <<END
ClusterName=netdiv
SlurmctldHost=control(10.232.0.254)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/socket
CredType=cred/munge
StateSaveLocation=/mnt/state/control
SlurmdSpoolDir=/mnt/state/%n
SlurmctldLogFile=/mnt/log/slurmctld
SlurmdLogFile=/mnt/log/%n
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

(unshare --uts bash -c 'echo control >/proc/sys/kernel/hostname; exec slurmctld -D' >/mnt/log/slurmctld.out 2>&1 &)
for host in nd1 nd2 nd3; do
    mkdir "/mnt/state/$host"
    (on_host "$host" slurmd -D -N "$host" >"/mnt/log/$host.out" 2>&1 &)
done

idle() { [ "$(sinfo --noheader --format='%D %t')" = "3 idle" ]; }
if ! within 60 idle; then
    sinfo --long --Node || true
    tail -n 20 /mnt/log/*
    not_possible_here "slurmctld and three slurmd do not start here; their logs are above"
fi
"$@"
