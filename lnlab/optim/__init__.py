"""What moves a model: optimizers, schedules of the learning rate, and rules that stop early."""
