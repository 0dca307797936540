"""Convergence of runs: rules, the losses that they judge, boundaries of learning rates, and published tables."""
