"""``lnlab.measure``: probes, plots and claims on any ``nn.Module``, without a spec."""
