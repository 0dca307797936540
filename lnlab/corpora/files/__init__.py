"""How text files are located, downloaded, opened and read."""
