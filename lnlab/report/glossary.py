"""What readers call the quantities: name in a sentence, unit or scale, and what it is."""

from collections.abc import Mapping

from lnlab.report.training_words import TRAINING

QUANTITIES: Mapping[str, tuple[str, str, str]] = {
    "gradient_norm": ("gradient norm", "nats per token", "Frobenius norm of the mean gradient"),
    "gradient_norm_mean": ("mean gradient norm", "nats per token", "mean Frobenius norm of the gradient of a batch"),
    "gradient_norm_unbiased_sq": (
        "squared gradient norm",
        "nats² per token²",
        "squared norm of the gradient, unbiased",
    ),
    "gradient_rms": ("gradient r.m.s.", "nats per token", "gradient norm over the square root of its elements"),
    "gradient_noise_share": ("noise share", "of the squared norm", "share of the squared gradient norm that is noise"),
    "gradient_growth": ("gradient growth", "ratio", "gradient norm over that of the layer before"),
    "stream_gradient": ("gradient of the stream", "nats per token", "norm of the loss's gradient by the hidden states"),
    "q_to_v_gradient": (
        "gradient of q over that of v",
        "ratio",
        "norm of the expected gradient, unbiased, of q over v",
    ),
    "qk_to_v_gradient": ("gradient of q and k over v's", "ratio", "median over layers, of q and k over v"),
    "qk_collapse_exponent": ("exponent of the collapse", "slope", "of log(gradient of q over v) on log(1 − cosine)"),
    "token_difference": ("difference of tokens", "1 − cosine", "one minus the mean cosine of two tokens of a sentence"),
    "variance_over_input": ("variance over the input's", "ratio", "variance in a layer over that of the embedding"),
    "growth_over_prediction": (
        "growth over prediction",
        "of logarithms",
        "log of a layer's growth of variance over the log of the growth that its tokens' likeness predicts",
    ),
    "hidden_norm": ("hidden norm", "Euclidean", "mean norm of the hidden state of a token"),
    "hidden_norm_sq": ("squared hidden norm", "per dimension", "mean squared norm of a hidden state over its width"),
    "hidden_gain": ("hidden gain", "ratio", "norm of a hidden state over that of the embedding"),
    "token_cosine": ("token cosine", "cosine", "mean cosine of two tokens of a sentence"),
    "rank_one_residual": (
        "rank-one residual",
        "relative",
        "distance from all tokens alike, over the norm",
    ),
    "activation_mean": ("mean activation", "per coordinate", "mean over the coordinates of all tokens"),
    "activation_variance": ("activation variance", "per coordinate", "variance over the coordinates of all tokens"),
    "token_sigma": ("token sigma", "per coordinate", "mean standard deviation of the coordinates of a token"),
    "branch_variance_share": ("branch share", "of the variance", "variance of a branch over that of the sum"),
    "norm_gradient_ratio": ("gradient ratio of a norm", "ratio", "gradient norm below a norm over that above it"),
    "norm_inverse_rms": ("inverse r.m.s.", "per coordinate", "mean of one over the root mean square of a token"),
    "norm_ratio_over_bound": ("ratio over bound", "ratio", "gradient ratio of a norm times the token's sigma"),
    "norm_ratio_over_bound_max": ("largest ratio over bound", "ratio", "largest gradient ratio times sigma of a token"),
    "norm_growth_share": ("growth share", "of the long tokens", "share of tokens above √d whose gradient grows"),
    "layer_gradient_ratio": (
        "gradient ratio of a layer",
        "ratio",
        "stream's gradient below a layer over that above it",
    ),
    "layer_gradient_over_prediction": (
        "measured over predicted",
        "ratio",
        "gradient ratio of a layer over the product of its norms' inverse sigmas and its branches' gains",
    ),
    "norm_inverse_sigma": ("inverse sigma", "per coordinate", "mean of one over the standard deviation of a token"),
    "residual_dependency": (
        "dependency",
        "share β",
        "share of a branch, or of the input, in the stream after a sublayer",
    ),
    "own_dependency": ("own dependency", "share", "share of a sublayer in the stream that leaves it"),
    "own_dependency_inverse_sq": ("inverse squared dependency", "1/β²", "one over the squared own dependency"),
    "dependency_sum": ("sum of squared dependencies", "Σ β²", "over the sublayers of a stack, each on its own branch"),
    "dependency_thirds": (
        "ratio of thirds",
        "β² of the last third over that of the first",
        "of the squared own dependency",
    ),
    "inverse_dependency_slope": ("slope of 1/β²", "a sublayer", "over the sublayers of one type"),
    "inverse_dependency_r2": (
        "R² of 1/β²",
        "share of the variance",
        "of a straight line over the sublayers of one type",
    ),
    "dependency_over_prediction": ("dependency over prediction", "ratio", "squared own dependency over c/(1 + c)"),
    "output_change_per_dependency": (
        "output change over dependencies",
        "squared norm",
        "change of the output by a random step, over the sum of squared dependencies",
    ),
    "jacobian_mean_square": ("mean squared singular value", "ratio", "of the Jacobian from input to output"),
    "isometry_gap": (
        "distance from isometry",
        "nats",
        "logarithm of the mean squared singular value, without its sign",
    ),
    "jacobian_singular_value": ("singular value", "ratio", "of the Jacobian from input to output"),
    "output_change_random": ("output change", "squared norm", "by a random step of all weights, per token"),
    "output_change_random_relative": (
        "output change",
        "squared norm",
        "by a random step of all weights, each in units of its matrix's r.m.s., per token",
    ),
    "output_change_gradient": ("output change", "squared norm", "by a step against the gradient's sign, per token"),
    "output_change_gradient_relative": (
        "output change",
        "squared norm",
        "by a step against the gradient's sign, in units of each matrix's r.m.s., per token",
    ),
    **{
        f"{name}_{step}": words
        for step in ("random", "random_relative", "gradient", "gradient_relative")
        for name, words in {
            "output_change_invariance": (
                "invariance",
                "ratio",
                "output change over squared step, against a third of it",
            ),
            "first_order_error": ("first-order error", "relative", "output change that is not of first order"),
        }.items()
    },
    "recursion_error": ("error of the recursion", "relative", "distance from the gradient of a backward pass"),
    "recursion_error_without_attention": (
        "error without attention",
        "relative",
        "distance of the recursion from the gradient, with attention left out of F",
    ),
    "recursion_error_separated": (
        "error of separate products",
        "relative",
        "distance from the gradient, with the norms and the blocks multiplied apart",
    ),
    "norm_excess_share": ("excess share", "of tokens", "share of tokens whose squared norm is far above the mean"),
    "branch_gain": ("branch gain", "ratio", "mean squared norm that a sublayer gives back over that it is given"),
    "attention_gain_times_length": (
        "attention gain times tokens",
        "ratio",
        "branch gain of self-attention times the tokens of a sentence",
    ),
    "gradient_over_theorem": (
        "gradient over the theorem",
        "nats per token",
        "gradient norm over d √ln d, in Pre-LN over d √(ln d / L)",
    ),
    "gradient_over_sharp_law": (
        "gradient over the sharper law",
        "nats per token",
        "gradient norm over √d, in Pre-LN over √(d/L)",
    ),
    "stream_over_lower_bound": ("stream over its lower bound", "ratio", "squared hidden norm over 1 + l/2"),
    "stream_over_upper_bound": ("stream over its upper bound", "ratio", "squared hidden norm over 1 + 3l/2"),
    "scaled_gradient_norm": ("scaled gradient norm", "nats per token", "gradient norm times the norm of its stream"),
    "input_norm_max": ("longest input", "Euclidean", "norm of the longest vector that a stack is given"),
    "input_norm_mean": ("mean input norm", "Euclidean", "mean norm of the vectors that a stack is given"),
    "input_norm_p99": ("99th percentile of input norms", "Euclidean", "norm that 99 % of a stack's inputs keep within"),
    "parameter_norm": ("parameter norm", "Frobenius", "norm of all entries of a parameter"),
    "parameter_rms": ("parameter r.m.s.", "per entry", "root mean square of the entries of a parameter"),
    "parameter_mean": ("parameter mean", "per entry", "mean of the entries of a parameter"),
    "parameter_max": ("largest entry", "per entry", "largest absolute value among the entries of a parameter"),
    **TRAINING,
}
