"""Functions that several probes share. No probe is registered here."""
