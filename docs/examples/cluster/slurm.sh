#!/bin/bash
#SBATCH --job-name=lnlab
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=0
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
#
# sbatch slurm.sh SPEC [OPTIONS OF lnlab run]: from a folder that all nodes see; results go to .lnlab there.
set -euo pipefail

export RAY_worker_niceness=0 RAY_USAGE_STATS_ENABLED=0
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head --lines=1)
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | awk '{ print $1 }'):6379

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
    ray start --head --port=6379 --num-cpus="$SLURM_CPUS_PER_TASK" --include-dashboard=false --block &
sleep 20
srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" --overlap \
    ray start --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" --block &

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
    lnlab run "$@" --executor ray --address "$address" &
driver=$!
trap 'kill -TERM "$driver"' TERM
wait "$driver" || wait "$driver" # the signal ends the first one
