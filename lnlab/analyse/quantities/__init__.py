"""Derived quantities: one phenomenon or paper a file, each registered with its words."""
