"""What readers call the quantities of hidden states: name, unit and definition of each."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords

ACTIVATION_MOMENTS: Mapping[str, QuantityWords] = {
    "activation_mean": QuantityWords("mean activation", "per coordinate", "mean over the coordinates of all tokens"),
    "activation_variance": QuantityWords(
        "activation variance", "per coordinate", "variance over the coordinates of all tokens", "Var x"
    ),
    "token_sigma": QuantityWords(
        "token sigma", "per coordinate", "mean standard deviation of the coordinates of a token"
    ),
    "branch_variance_share": QuantityWords(
        "branch share", "of the variance", "variance of a branch over that of the sum"
    ),
}
ACTIVATION_OUTLIERS: Mapping[str, QuantityWords] = {
    "activation_kurtosis": QuantityWords(
        "kurtosis", "3 if normal", "fourth moment of the coordinates of all tokens over their squared variance"
    ),
    "activation_largest": QuantityWords(
        "largest coordinate", "of the median", "largest absolute coordinate over the median of all"
    ),
}
HIDDEN_NORM: Mapping[str, QuantityWords] = {
    "hidden_norm_sq": QuantityWords(
        "squared hidden norm", "per dimension", "mean squared norm of a hidden state over its width", "‖x‖²/d"
    ),
    "hidden_norm": QuantityWords("hidden norm", "Euclidean", "mean norm of the hidden state of a token", "‖x‖"),
}
COORDINATE_SIZE: Mapping[str, QuantityWords] = {
    "coordinate_rms": QuantityWords(
        "size of a coordinate", "r.m.s.", "root mean square over all coordinates and tokens"
    ),
    "coordinate_change_rms": QuantityWords(
        "change of a coordinate",
        "r.m.s.",
        "root mean square of the change in training, over all coordinates and tokens",
    ),
}
TOKEN_COSINE: Mapping[str, QuantityWords] = {
    "token_cosine": QuantityWords("token cosine", "cosine", "mean cosine of two tokens of a sentence"),
    "rank_one_residual": QuantityWords(
        "rank-one residual", "relative", "distance from all tokens alike, over the norm"
    ),
}
INPUT_NORM: Mapping[str, QuantityWords] = {
    "input_norm_max": QuantityWords(
        "longest input", "Euclidean", "norm of the longest input vector of a stack", "max ‖x‖"
    ),
    "input_norm_mean": QuantityWords(
        "mean input norm", "Euclidean", "mean norm of the input vectors of a stack", "‖x‖"
    ),
    "input_norm_p99": QuantityWords(
        "99th percentile of input norms", "Euclidean", "99th percentile of the input norms of a stack"
    ),
}
RESIDUAL_DEPENDENCY: Mapping[str, QuantityWords] = {
    "residual_dependency": QuantityWords(
        "dependency", "share β", "share of a branch, or of the input, in the stream after a sublayer"
    ),
    "own_dependency": QuantityWords(
        "own dependency", "share", "share of a sublayer's branch in the stream after it", "β"
    ),
    "own_dependency_inverse_sq": QuantityWords(
        "inverse squared dependency", "1/β²", "one over the squared own dependency"
    ),
}
NORM_CONCENTRATION: Mapping[str, QuantityWords] = {
    "norm_excess_share": QuantityWords(
        "excess share", "of tokens", "share of tokens whose squared norm is far above the mean"
    ),
}
