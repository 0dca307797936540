"""Which rows a claim or a section reads: selections, series over seeds, reductions, and what became of missing runs."""
