"""Has a run converged: rules, the losses that they judge, boundaries of learning rates, and published tables."""
