"""What a run costs: FLOPs, parameters and memory."""
