"""Interventions, each a way to cut a causal arrow, one per file."""
