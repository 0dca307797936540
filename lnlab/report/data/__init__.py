"""Data of figures: from results to the rows that a chart draws."""
