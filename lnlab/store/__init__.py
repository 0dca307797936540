"""The store: rows to Parquet and back. A result is complete and checksum-verified, or invisible."""
