"""The sections that a spec can ask for, one a file."""
