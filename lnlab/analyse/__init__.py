"""From stored rows to numbers with intervals: derived quantities, statistics, convergence, tuning. No torch."""
