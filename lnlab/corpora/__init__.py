"""Corpora, one per file, tokenizers, and the folders and downloads of real data."""
