"""Statistics over seeds that know nothing of experiments: intervals, trends, densities."""
