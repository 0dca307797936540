"""Functions that several probes share; no probe is registered here."""
