"""From numbers to verdicts: one file a kind of claim, each judged over seeds (Student, Page, exact counts).

A claim has a criterion (``criterion``), whose level at each look is that of ``looks``; ``look_book`` is the record of
the looks that were taken.
"""
