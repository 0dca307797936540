"""``lnlab.Recorder``: what an update does, probes and losses of a training loop that is not lnlab's, in a folder."""
