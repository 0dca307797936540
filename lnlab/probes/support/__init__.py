"""What several probes share; no probe stands here."""
