"""What a selection takes, of planned and of measured runs: rows, runs, series over seeds, and what is missing."""
