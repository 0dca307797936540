"""Where text comes from: one corpus a file, tokenizers, and the folders and downloads that hold real data."""
