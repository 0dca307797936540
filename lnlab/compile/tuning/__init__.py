"""What is chosen on tuning seeds: groups of variants, candidates, and the choice."""
