"""Which change between two versions of a report moved a verdict."""
