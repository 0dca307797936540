"""Descriptions of the language and of a plan: JSON Schema, reference and EXPLAIN."""
