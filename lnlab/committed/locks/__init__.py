"""Locks of committed reports: what a report says, in one small file, and whether it still says it."""
