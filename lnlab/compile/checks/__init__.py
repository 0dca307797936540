"""What resolves and yet cannot be: settings, models, data and measurement times that contradict each other."""
