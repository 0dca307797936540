"""Measurements of a state that leave no trace: one quantity a file."""
