"""What a reader sees: a folder of tables becomes a page, a notebook, figures and tables for a paper."""
