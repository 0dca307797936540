"""What a model is asked to do: a seeded stream of batches and its loss, one task a file."""
