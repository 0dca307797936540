"""How learning rates are chosen on tuning seeds."""
