"""Commands on what is committed and kept: locks, their verification, differences, and the content of stores."""
