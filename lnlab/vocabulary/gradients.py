"""What readers call the quantities of gradients: name, unit and definition of each."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords

UNRESOLVED_SHARE = QuantityWords(
    "share below rounding", "of the entries", "entries whose gradient is rounding error alone"
)
"""The words of that share of whatever is measured at the entries of a parameter."""
GRADIENT_NORM: Mapping[str, QuantityWords] = {
    "gradient_norm": QuantityWords(
        "gradient norm", "{nats} per {item}", "Frobenius norm of the mean gradient", "‖E ∂L/∂{W}‖"
    ),
    "gradient_norm_mean": QuantityWords(
        "mean gradient norm", "{nats} per {item}", "mean Frobenius norm of the gradient of a batch", "E ‖∂L/∂{W}‖"
    ),
    "gradient_rms": QuantityWords(
        "gradient r.m.s.", "{nats} per {item}", "gradient norm over the square root of its elements"
    ),
    "gradient_norm_unbiased_sq": QuantityWords(
        "squared gradient norm", "{nats}² per {item}²", "squared norm of the gradient, unbiased", "‖E ∂L/∂{W}‖²"
    ),
    "gradient_noise_share": QuantityWords(
        "noise share", "of the squared norm", "share of the squared gradient norm that is noise"
    ),
    "gradient_unresolved_share": UNRESOLVED_SHARE,
}
GRADIENT_NOISE: Mapping[str, QuantityWords] = {
    "gradient_signal": QuantityWords(
        "squared gradient", "{nats}² per {item}²", "squared norm of the gradient of all parameters, unbiased", "‖μ‖²"
    ),
    "gradient_variance": QuantityWords(
        "gradient variance", "{nats}² per {item}", "trace of the covariance of the gradient, unbiased", "tr Σ"
    ),
    "gradient_noise_scale": QuantityWords(
        "gradient noise scale", "tokens, or sentences", "batch whose noise is as large as the gradient", "tr Σ / ‖μ‖²"
    ),
}
STREAM_GRADIENT: Mapping[str, QuantityWords] = {
    "stream_gradient": QuantityWords(
        "gradient of the stream",
        "{nats} per {item}",
        "norm of the loss gradient with respect to the hidden states",
        "‖∂L/∂x‖",
    ),
}
GRADIENT_HISTOGRAM: Mapping[str, QuantityWords] = {
    "gradient_size": QuantityWords(
        "gradient entry", "{nats} per {item}", "absolute values of the entries of a gradient", "|∂L/∂{W}|"
    ),
}
GRADIENT_RECURSION: Mapping[str, QuantityWords] = {
    "recursion_error": QuantityWords(
        "error of the recursion", "relative", "distance from the gradient of a backward pass"
    ),
    "recursion_error_without_attention": QuantityWords(
        "error without attention",
        "relative",
        "distance of the recursion from the gradient, with attention left out of F",
    ),
    "recursion_error_separated": QuantityWords(
        "error of separate products",
        "relative",
        "distance from the gradient, with norms and blocks multiplied separately",
    ),
}
