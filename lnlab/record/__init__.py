"""A committed report: the rows that it keeps, its lock, whether it holds, its claims judged again, and what moved."""
