"""Reports made again from their own tables: which rows a folder holds, and its claims judged again."""
