"""What readers call the quantities that lnlab measures: name in a sentence, unit or scale, and what it is."""

from collections.abc import Mapping

from lnlab.report.words.curvature_words import CURVATURE_GLOSSARY
from lnlab.report.words.training_words import TRAINING_GLOSSARY

GLOSSARY: Mapping[str, tuple[str, str, str]] = {
    "gradient_norm": ("gradient norm", "{nats} per {item}", "Frobenius norm of the mean gradient"),
    "gradient_norm_mean": ("mean gradient norm", "{nats} per {item}", "mean Frobenius norm of the gradient of a batch"),
    "gradient_norm_unbiased_sq": (
        "squared gradient norm",
        "{nats}² per {item}²",
        "squared norm of the gradient, unbiased",
    ),
    "gradient_rms": ("gradient r.m.s.", "{nats} per {item}", "gradient norm over the square root of its elements"),
    "gradient_noise_share": ("noise share", "of the squared norm", "share of the squared gradient norm that is noise"),
    **dict.fromkeys(
        (f"{name}_unresolved_share" for name in ("gradient", "update", "displacement", "adaptive_rate")),
        ("share below rounding", "of the entries", "entries whose gradient is nothing but rounding"),
    ),
    "stream_gradient": (
        "gradient of the stream",
        "{nats} per {item}",
        "norm of the loss's gradient by the hidden states",
    ),
    "hidden_norm": ("hidden norm", "Euclidean", "mean norm of the hidden state of a token"),
    "hidden_norm_sq": ("squared hidden norm", "per dimension", "mean squared norm of a hidden state over its width"),
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
    "norm_inverse_sigma": ("inverse sigma", "per coordinate", "mean of one over the standard deviation of a token"),
    "residual_dependency": (
        "dependency",
        "share β",
        "share of a branch, or of the input, in the stream after a sublayer",
    ),
    "own_dependency": ("own dependency", "share", "share of a sublayer in the stream that leaves it"),
    "own_dependency_inverse_sq": ("inverse squared dependency", "1/β²", "one over the squared own dependency"),
    "jacobian_mean_square": ("mean squared singular value", "ratio", "of the Jacobian from input to output"),
    "jacobian_singular_value": ("singular value", "ratio", "of the Jacobian from input to output"),
    "output_change_random": ("output change", "squared norm", "by a random step of all weights, per {item}"),
    "output_change_random_relative": (
        "output change",
        "squared norm",
        "by a random step of all weights, each in units of its matrix's r.m.s., per {item}",
    ),
    "output_change_gradient": ("output change", "squared norm", "by a step against the gradient's sign, per {item}"),
    "output_change_gradient_relative": (
        "output change",
        "squared norm",
        "by a step against the gradient's sign, in units of each matrix's r.m.s., per {item}",
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
    "batch_dependence": ("dependence on the batch", "relative", "distance between answers in a batch and alone"),
    "batch_dependence_in_use": (
        "dependence on the batch at inference",
        "relative",
        "distance between answers in a batch and alone, with running statistics",
    ),
    "mean_discrepancy": ("discrepancy of the mean", "batch σ", "distance of running means from those of batches"),
    "variance_discrepancy": ("discrepancy of the variance", "relative", "distance of σ_run over σ_batch from 1"),
    "output_discrepancy": (
        "discrepancy of the output",
        "relative",
        "distance of logits at inference from those in training",
    ),
    "norm_excess_share": ("excess share", "of tokens", "share of tokens whose squared norm is far above the mean"),
    "input_norm_max": ("longest input", "Euclidean", "norm of the longest vector that a stack is given"),
    "input_norm_mean": ("mean input norm", "Euclidean", "mean norm of the vectors that a stack is given"),
    "input_norm_p99": ("99th percentile of input norms", "Euclidean", "norm that 99 % of a stack's inputs keep within"),
    "parameter_norm": ("parameter norm", "Frobenius", "norm of all entries of a parameter"),
    "parameter_rms": ("parameter r.m.s.", "per entry", "root mean square of the entries of a parameter"),
    "parameter_mean": ("parameter mean", "per entry", "mean of the entries of a parameter"),
    "update_rms": ("update r.m.s.", "per entry", "root mean square of the entries of the last update"),
    "update_over_rate_rms": (
        "update r.m.s.",
        "in units of the learning rate",
        "root mean square of the last update's entries",
    ),
    "update_to_weight": ("update over weight", "ratio", "norm of the last update over that of what it moved"),
    "displacement": ("displacement", "Euclidean", "distance of a parameter from where it began"),
    "relative_displacement": ("relative displacement", "ratio", "displacement over the norm of the initial parameter"),
    "total_displacement": ("total displacement", "Euclidean", "distance of all parameters from where they began"),
    "total_relative_displacement": (
        "total relative displacement",
        "ratio",
        "total displacement over the norm of all initial parameters",
    ),
    "adaptive_rate_median": ("adaptive rate", "in units of the learning rate", "median of Adam's rates of the entries"),
    "adaptive_rate_min": (
        "smallest adaptive rate",
        "in units of the learning rate",
        "smallest of Adam's rates of the entries",
    ),
    "adaptive_rate_max": (
        "largest adaptive rate",
        "in units of the learning rate",
        "largest of Adam's rates of the entries",
    ),
    "near_epsilon_share": ("share near epsilon", "of the entries", "share of entries where √v̂ is below 10 ε"),
    "moment_ratio": ("moment ratio", "|m̂| over √v̂", "median ratio of Adam's moments over the entries"),
    "total_moment_ratio": ("moment ratio", "|m̂| over √v̂", "median ratio of Adam's moments over all weights"),
    "psi_variance": ("variance of ψ", "squared rate", "of Adam's rate over simulated gradients"),
    "psi_variance_of_samples": ("variance of ψ in samples", "squared rate", "of Adam's rate, by the size of a sample"),
    "psi_variance_law": ("variance of ψ, closed form", "squared rate", "of Adam's rate for ρ averaged gradients"),
    "psi_variance_first_order": ("variance of ψ, first order", "squared rate", "of Adam's rate for ρ gradients"),
    "averaged_gradients": ("averaged gradients", "ρ", "gradients that Adam's second moment is worth"),
    "rectification": ("rectification", "factor r", "RAdam's factor on the rate"),
    "rectified_variance": ("variance of r ψ", "squared rate", "of RAdam's rate over simulated gradients"),
    "parameter_max": ("largest entry", "per entry", "largest absolute value among the entries of a parameter"),
    "bleu_precision": ("n-gram precision", "%", "share of the n-grams of the translations that their references have"),
    "brevity_penalty": ("brevity penalty", "factor", "exp(1 − r/c) of c words said for r, else 1"),
    "length_ratio": ("length ratio", "ratio", "words of the translations over those of the references"),
    "copy_bleu": ("BLEU of copying", "0 to 100", "BLEU of the sources, taken for translations"),
    "sentence_bleu": ("BLEU of a sentence", "0 to 100", "BLEU of one translation alone"),
    **TRAINING_GLOSSARY,
    **CURVATURE_GLOSSARY,
}
