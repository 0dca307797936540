"""The kinds of claims: one statistical test a file."""
