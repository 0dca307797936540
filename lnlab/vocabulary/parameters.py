"""What readers call the quantities of parameters and their updates: name, unit and definition of each."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords
from lnlab.vocabulary.gradients import UNRESOLVED_SHARE

PARAMETER_SIZE: Mapping[str, QuantityWords] = {
    "parameter_norm": QuantityWords("parameter norm", "Frobenius", "norm of all entries of a parameter", "‖{W}‖"),
    "parameter_rms": QuantityWords("parameter r.m.s.", "per entry", "root mean square of the entries of a parameter"),
    "parameter_mean": QuantityWords("parameter mean", "per entry", "mean of the entries of a parameter"),
    "parameter_max": QuantityWords(
        "largest entry", "per entry", "largest absolute value among the entries of a parameter"
    ),
}
DISPLACEMENT: Mapping[str, QuantityWords] = {
    "displacement": QuantityWords("displacement", "Euclidean", "distance of a parameter from its initial value"),
    "relative_displacement": QuantityWords(
        "relative displacement", "ratio", "displacement over the norm of the initial parameter"
    ),
    "total_displacement": QuantityWords(
        "total displacement", "Euclidean", "distance of all parameters from their initial values", "‖θ − θ₀‖"
    ),
    "total_relative_displacement": QuantityWords(
        "total relative displacement",
        "ratio",
        "total displacement over the norm of all initial parameters",
        "‖θ − θ₀‖/‖θ₀‖",
    ),
    "displacement_unresolved_share": UNRESOLVED_SHARE,
}
UPDATE_SIZE: Mapping[str, QuantityWords] = {
    "update_rms": QuantityWords("update r.m.s.", "per entry", "root mean square of the entries of the last update"),
    "update_over_rate_rms": QuantityWords(
        "update r.m.s.", "in units of the learning rate", "root mean square of the last update's entries"
    ),
    "update_to_weight": QuantityWords(
        "update over weight", "ratio", "norm of the last update over the norm of the weights", "‖Δ{W}‖/‖{W}‖"
    ),
    "update_unresolved_share": UNRESOLVED_SHARE,
}
UPDATE_HISTOGRAM: Mapping[str, QuantityWords] = {
    "update_over_rate_size": QuantityWords(
        "update entry over the learning rate",
        "ratio",
        "absolute values of the entries of an update, over its learning rate",
        "|Δ{W}|/η",
    ),
    "update_size": QuantityWords("update entry", "per update", "absolute values of the entries of an update", "|Δ{W}|"),
}
