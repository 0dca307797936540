"""Curves, settings and verdicts where people already look: TensorBoard, MLflow, Weights & Biases, Trackio."""
