"""One round of a run: its units, and the runs of other specs that they begin with."""
