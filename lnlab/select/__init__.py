"""What a selection takes, of planned and of measured runs: rows, runs, series over seeds, and what is missing.

A selection is read once (``selection``) and answered by one index of settings (``variants``). ``quantity`` registers
quantities, and ``aligned`` evaluates an expression over them.
"""
