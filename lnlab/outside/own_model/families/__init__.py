"""Models that are recognised by the names of their classes and modules: patterns as data, a file an architecture."""
