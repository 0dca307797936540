"""A committed report: its lock, whether it holds, its claims judged again, and what moved.

``redraw`` judges it on its own rows, ``locks`` verify it, ``comparison`` sets two of them against each other.
"""
