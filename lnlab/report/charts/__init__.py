"""Charts: from data to Vega-Lite."""
