"""Sections that draw boxes and arrows: what is thought to cause what, and what a sublayer computes."""
