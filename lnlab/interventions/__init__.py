"""One way to cut a causal arrow a file."""
