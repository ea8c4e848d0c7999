#!/usr/bin/env bash
# deploy/slurm/netdiv.sbatch on a cluster of slurmctld and three slurmd, each on a separate host (a network namespace)
. "$(dirname "$0")/../common.sh"
install slurmctld slurmd slurm-client munge iproute2 util-linux procps python3
in_namespaces "$repository/tests/deploy/slurm/cluster.sh" bash "$repository/tests/deploy/slurm/jobs.sh"
