"""What the commands do, as functions: a request, the plan kept for it, what is missing, and its verdicts.

``api`` and ``running`` are the commands for Python, ``cluster_run`` is a run on SLURM or Ray, ``judging`` judges a
stored plan, ``why`` says where a number comes from.
"""
