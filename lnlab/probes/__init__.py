"""Probes, which measure a state and leave it unchanged, one per file."""
