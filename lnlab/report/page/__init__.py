"""The page, the notebook and the LaTeX tables."""
