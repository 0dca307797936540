"""The spec: one YAML file, loaded with positions and read as one closed, strict model."""
