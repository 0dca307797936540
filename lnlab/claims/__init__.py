"""From numbers to verdicts: one file a kind of claim, each judged over seeds (Student, Page, exact counts)."""
