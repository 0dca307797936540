"""What readers call the quantities of norms and of what they depend on: name, unit and definition of each."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords

NORM_JACOBIAN: Mapping[str, QuantityWords] = {
    "norm_gradient_ratio": QuantityWords(
        "gradient ratio of a norm", "ratio", "gradient norm below a norm over that above it"
    ),
    "norm_inverse_sigma": QuantityWords(
        "inverse sigma", "per coordinate", "mean of one over the standard deviation of a token", "1/σ"
    ),
    "norm_inverse_rms": QuantityWords(
        "inverse r.m.s.", "per coordinate", "mean of one over the root mean square of a token"
    ),
    "norm_ratio_over_bound": QuantityWords(
        "ratio over bound", "ratio", "gradient ratio of a norm times the token's sigma"
    ),
    "norm_ratio_over_bound_max": QuantityWords(
        "largest ratio over bound", "ratio", "largest gradient ratio times sigma of a token"
    ),
    "norm_growth_share": QuantityWords(
        "growth share", "of the long tokens", "share of tokens above √d whose gradient grows"
    ),
}
ROOT_SUM_NORM: Mapping[str, QuantityWords] = {
    "root_sum_norm_variance": QuantityWords(
        "variance over width", "ratio", "variance of a normed token over d, with σ = (1/d) √Σ(x − μ)²"
    ),
}
BATCH_DEPENDENCE: Mapping[str, QuantityWords] = {
    "batch_dependence": QuantityWords(
        "dependence on the batch", "relative", "distance between outputs in a batch and alone"
    ),
    "batch_dependence_in_use": QuantityWords(
        "dependence on the batch at inference",
        "relative",
        "distance between outputs in a batch and alone, with running statistics",
    ),
}
STATISTICS_DISCREPANCY: Mapping[str, QuantityWords] = {
    "mean_discrepancy": QuantityWords(
        "discrepancy of the mean", "batch σ", "distance of running means from those of batches"
    ),
    "variance_discrepancy": QuantityWords(
        "discrepancy of the variance", "relative", "distance of σ_run over σ_batch from 1"
    ),
    "output_discrepancy": QuantityWords(
        "discrepancy of the output", "relative", "distance of logits at inference from those in training"
    ),
}
