"""A small German with its English: words, inflection, word order, and sentences drawn from them."""
