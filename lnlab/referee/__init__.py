"""A referee made of rules: what a critical reader would ask of a report or of a plan, computed from what is there.

``study`` holds the facts that rules read, the same of planned and of measured runs. ``rule`` has the registry and the
line that a rule writes. ``rules`` are the rules, a file for each thing that they look at: tuning, training, effects,
controls, answers, and other pages. ``review`` runs them and puts their lines in order. Nothing here computes a run or
changes a verdict.
"""
