"""Execution of trajectories into rows: the training loop, the workers and the scheduler that hands them units."""
