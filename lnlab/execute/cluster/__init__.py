"""Units on a cluster: tasks of SLURM or Ray, each of which is ``lnlab run`` on one shared store."""
