"""Which variants a selection takes, and whether what a spec requests can be answered."""
