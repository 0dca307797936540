"""Two statements of one experiment side by side: specs, locks, committed reports, as files or in commits."""
