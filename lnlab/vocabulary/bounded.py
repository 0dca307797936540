"""Measured quantities that lie between 0 and 1: their intervals over seeds end there, too."""

FRACTIONS = frozenset(
    {
        "accuracy",
        "batch_accuracy",
        "near_epsilon_share",
        "adaptive_rate_unresolved_share",
        "gradient_unresolved_share",
        "displacement_unresolved_share",
        "update_unresolved_share",
        "norm_excess_share",
        "norm_growth_share",
    }
)
