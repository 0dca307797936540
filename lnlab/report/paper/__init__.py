"""Reports as material for a paper: figures at the width of a column, verdict tables, numbers and references."""
