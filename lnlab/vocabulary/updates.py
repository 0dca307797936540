"""What readers call the quantities that a recorder reads in an optimizer's hooks: name, unit and definition."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords

RECORDED_UPDATES: Mapping[str, QuantityWords] = {
    "step_gradient_norm": QuantityWords(
        "gradient norm of the update",
        "Frobenius",
        "norm of a parameter's gradient as the optimizer used it, on the training batch, clipped",
    ),
    "step_activation_rms": QuantityWords(
        "activation r.m.s. in training", "per entry", "root mean square of an activation on the training batch"
    ),
}
