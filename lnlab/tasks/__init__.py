"""Tasks, each a seeded stream of batches and its loss, one per file."""
