"""The columns of measured rows that a selection may name, and their closed vocabularies."""

COLUMNS = (
    "run",
    "variant",
    "seed",
    "step",
    "quantity",
    "stack",
    "layer",
    "sublayer",
    "tensor",
    "index",
    "split",
    "statistics",
    "rule",
    "x",
    "value",
    "left",
    "right",
    "count",
    "operator",
    "scope",
    "part",
    "draw",
    "node",
    "weight",
    "residual",
    "size",
    "squared_norm",
    "orthogonality_loss",
    "text",
    "status",
)

VOCABULARY: dict[str, tuple[str, ...]] = {
    "stack": ("encoder", "decoder"),
    "sublayer": ("self_attention", "cross_attention", "feed_forward", "embedding", "final_norm", "output"),
    "tensor": (
        *("q", "k", "v", "o", "w1", "w2", "w3"),
        *("bq", "bk", "bv", "bo", "b1", "b2", "b3", "weight", "bias"),
        *("scale", "shift", "scale_outer", "shift_outer", "scale_q", "shift_q", "scale_k", "shift_k"),
        *("alpha", "omega", "gate", "gain", "gain_q", "gain_k", "gain_v", "gain_o", "gain_w1", "gain_w2", "gain_w3"),
        *("logit_gain", "table"),
        *("in", "branch", "sum", "out", "logits"),
    ),
    "split": ("train", "validation", "test"),
    "statistics": ("batch", "running"),
}
LAST = "last"
"""What ``step`` may also be: where a run that comes to its end is measured last."""
LAYER_ENDS = ("first", LAST)
"""What ``layer`` may also be: the first and the last layer of a run's stack."""

ALL = "all"
"""Stands in ``for_each`` for every value of an axis, and as ``method`` of a grid for every method."""
GRID = "grid"
"""The key of a selection that takes the runs of one grid of the sweep, or of several, by name."""

EVALUATION = "evaluation"
"""The probe that scores a split. It scores the validation split at the steps of ``train.evaluate``."""
RECORDED = ("loss", "epoch_loss", "global_gradient_norm", "learning_rate", "tokens", "unigram_entropy", "epoch")
"""What training itself puts on the curve, on the split ``train``."""
NEXT_UPDATE_CURVES = ("loss", "global_gradient_norm")
"""Curves of the training batches: at a state they belong to the update that follows it."""

EVALUATED: dict[str, tuple[str, ...]] = {
    "loss": ("validation", "test"),
    "nll": ("train", "validation", "test"),
    "accuracy": ("train", "validation", "test"),
}
"""What evaluations put there, with the splits on which they may. The loss on ``train`` is that of training batches."""
EVALUATIONS: dict[str, tuple[str, ...]] = {
    EVALUATION: tuple(EVALUATED),
    "batch_evaluation": ("batch_nll", "batch_accuracy"),
}
"""All probes that score a split, with what they put on the curve."""
CURVES_OF_TRAINING = frozenset({*RECORDED, *(name for names in EVALUATIONS.values() for name in names)})
"""Every quantity that training and evaluations put on the curve."""

METHOD = "method"
"""What a selection, an axis and a claim's ``over`` may name besides paths: the name of a setting under ``methods``."""

TIMES = "times"
"""The same, where a value is chosen on tuning seeds: the multiple of what was chosen that a run has."""
