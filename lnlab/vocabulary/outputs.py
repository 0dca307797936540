"""What readers call the quantities of outputs and of what changes them: name, unit and definition of each."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords

_INVARIANCE = QuantityWords("invariance", "ratio", "output change over squared step, against a third of it")
_FIRST_ORDER_ERROR = QuantityWords("first-order error", "relative", "output change that is not of first order")
OUTPUT_PERTURBATION: Mapping[str, QuantityWords] = {
    "output_change_random": QuantityWords(
        "output change", "squared norm", "by a random step of all weights, per {item}", "‖F(x; W) − F(x; W*)‖²"
    ),
    "output_change_invariance_random": _INVARIANCE,
    "first_order_error_random": _FIRST_ORDER_ERROR,
    "output_change_random_relative": QuantityWords(
        "output change",
        "squared norm",
        "by a random step of all weights, each in units of its matrix's r.m.s., per {item}",
    ),
    "output_change_invariance_random_relative": _INVARIANCE,
    "first_order_error_random_relative": _FIRST_ORDER_ERROR,
    "output_change_gradient": QuantityWords(
        "output change", "squared norm", "by a step against the gradient's sign, per {item}", "‖F(x; W) − F(x; W*)‖²"
    ),
    "output_change_invariance_gradient": _INVARIANCE,
    "first_order_error_gradient": _FIRST_ORDER_ERROR,
    "output_change_gradient_relative": QuantityWords(
        "output change",
        "squared norm",
        "by a step against the gradient's sign, in units of each matrix's r.m.s., per {item}",
    ),
    "output_change_invariance_gradient_relative": _INVARIANCE,
    "first_order_error_gradient_relative": _FIRST_ORDER_ERROR,
}
UPDATE_EFFECT: Mapping[str, QuantityWords] = {
    "output_change_update": QuantityWords("output change", "squared norm", "by the last update, per {item}", "‖Δf‖²"),
    "update_amplification": QuantityWords(
        "amplification", "ratio of squares", "output change by the last update, over its squared length", "‖Δf‖²/‖Δθ‖²"
    ),
}
IO_JACOBIAN: Mapping[str, QuantityWords] = {
    "jacobian_singular_value": QuantityWords("singular value", "ratio", "of the Jacobian from input to output"),
    "jacobian_mean_square": QuantityWords(
        "mean squared singular value", "ratio", "of the Jacobian from input to output"
    ),
}
OUTPUT_LOGITS: Mapping[str, QuantityWords] = {
    "output_log_z": QuantityWords(
        "log Z of the output", "{nats}", "mean of the logarithm of the softmax's denominator"
    ),
    "output_log_z_size": QuantityWords(
        "size of log Z of the output", "{nats}", "root mean square of the logarithm of the softmax's denominator"
    ),
    "output_logit_max": QuantityWords("largest output logit", "before the softmax", "largest absolute value"),
}
FUTURE_DEPENDENCE: Mapping[str, QuantityWords] = {
    "future_dependence": QuantityWords(
        "dependence on the future", "relative", "distance between outputs with and without later tokens"
    ),
    "future_dependence_of_matrix_norm": QuantityWords(
        "dependence on the future, matrix statistics",
        "relative",
        "distance between outputs with and without later tokens, with norms over a whole sentence",
    ),
}
