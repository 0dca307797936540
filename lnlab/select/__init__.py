"""What a selection takes, of planned and of measured runs: rows, runs, series over seeds, and what is missing.

It is read once (``selection``) and answered by one index of settings (``variants``). A quantity is registered in
``quantity``; that of an expression is its formula (``aligned``).
"""
