#!/bin/bash
#SBATCH --array=1-20
#SBATCH --cpus-per-task=2
#SBATCH --requeue
# sbatch slurm.sh FILE: play the trials of a sweep, one array index each (or every 20th trial, if there are more).
# What was preempted and requeued goes on. In the end: dovetail merge out/NAME out/NAME/part-*
set -euo pipefail
exec dovetail run "${1:?usage: sbatch slurm.sh FILE}" --resume \
    --trial "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" "${@:2}"
