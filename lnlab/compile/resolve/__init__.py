"""From a setting as it is written to the resolved setting, every default explicit."""
