"""From numbers to verdicts: one file a kind of claim, each judged over seeds (Student, Page, exact counts).

A claim has a criterion (``criterion``). ``looks`` sets its level at each look, and ``look_book`` records the looks
taken.
"""
