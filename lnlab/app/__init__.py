"""What the commands do, as functions: a request, the plan kept for it, what is missing, and its verdicts."""
