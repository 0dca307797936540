"""From a number on a page back to rows, runs and settings; from a run to how it ended, and why."""
