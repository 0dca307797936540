"""A committed report: the rows that it keeps, its lock, whether it holds, its claims judged again, and what moved.

``redraw`` and ``judge_again`` judge it on its own rows, ``locks`` verify it, ``comparison`` sets two of them against
each other, ``tracing`` says where a number comes from.
"""
