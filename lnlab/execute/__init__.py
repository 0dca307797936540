"""Execution: a trajectory in, rows out; who works on what, and what becomes of a worker that dies."""
