"""Rehearsing a plan: its models built without memory, its rows made up, its claims and sections judged on these."""
