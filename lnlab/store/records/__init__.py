"""What lies in a store: layout, checksummed files, records, states, and how far they reach."""
