"""``lnlab.measure``: probes, plots and claims on any ``nn.Module``, without a spec.

Addresses come from patterns (``families`` has those of known models). Frames, charts and verdicts are those of a spec.
"""
