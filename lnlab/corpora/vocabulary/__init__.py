"""Tokenizers: from sentences to tokens and back."""
