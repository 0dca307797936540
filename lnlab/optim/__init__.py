"""Optimizers, schedules of the learning rate, and rules of early stopping."""
