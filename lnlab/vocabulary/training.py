"""What readers call the quantities of training, evaluation and translation: name, unit and definition of each."""

from collections.abc import Mapping
from dataclasses import replace

from lnlab.facts import QuantityWords

RECORDED_CURVES: Mapping[str, QuantityWords] = {
    "loss": QuantityWords(
        "loss",
        "{nats} per {item}",
        "training objective with label smoothing; with dropout on training batches",
        "L",
        larger_is="worse",
    ),
    "epoch_loss": QuantityWords(
        "loss of an epoch",
        "{nats} per {item}",
        "mean over an epoch of the losses of its training batches",
        larger_is="worse",
    ),
    "global_gradient_norm": QuantityWords(
        "global gradient norm", "{nats} per {item}", "of all parameters together, before clipping", "‖∂L/∂θ‖"
    ),
    "learning_rate": QuantityWords(
        "learning rate", "per update", "of each update: the optimizer's rate times the schedule's factor", "η"
    ),
    "tokens": QuantityWords(
        "tokens", "per update", "tokens, or sentences, over which the loss of an update is averaged"
    ),
    "unigram_entropy": QuantityWords(
        "word frequencies", "{nats} per {item}", "entropy of the training targets, one by one"
    ),
    "epoch": QuantityWords("epoch", "passes over the training split", "updates so far over the updates of an epoch"),
}
EVALUATION_CURVES: Mapping[str, QuantityWords] = {
    "loss": RECORDED_CURVES["loss"],
    "nll": QuantityWords(
        "negative log likelihood",
        "{nats} per {item}",
        "of the targets, without label smoothing and dropout",
        "L",
        larger_is="worse",
    ),
    "accuracy": QuantityWords(
        "accuracy", "share of the labels", "of sentences whose most likely label is the right one", larger_is="better"
    ),
}
BATCH_EVALUATION_CURVES: Mapping[str, QuantityWords] = {
    "batch_nll": QuantityWords(
        "negative log likelihood with batch statistics",
        "{nats} per {item}",
        "of the targets, with norms over a batch on the statistics of that batch",
        larger_is="worse",
    ),
    "batch_accuracy": QuantityWords(
        "accuracy with batch statistics", "share of the labels", "as the nll with batch statistics", larger_is="better"
    ),
}
OF_ANOTHER_LOOP: Mapping[str, QuantityWords] = {
    name: replace(
        words,
        unit="" if words.unit == "share of the labels" else words.unit,  # or it is in percent
        definition="as it was recorded",
    )
    for name, words in {**RECORDED_CURVES, **EVALUATION_CURVES, **BATCH_EVALUATION_CURVES}.items()
}
"""Of a training loop that is not lnlab's: what it smooths, drops, clips or averages over is not known."""
BLEU: Mapping[str, QuantityWords] = {
    "bleu": QuantityWords(
        "BLEU", "percent", "n-gram overlap of the translations with the references", larger_is="better"
    ),
    "bleu_precision": QuantityWords(
        "n-gram precision",
        "%",
        "share of the n-grams of the translations that their references have",
        larger_is="better",
    ),
    "brevity_penalty": QuantityWords(
        "brevity penalty", "factor", "exp(1 − r/c) for c words against r in the references, at most 1"
    ),
    "length_ratio": QuantityWords("length ratio", "ratio", "words of the translations over those of the references"),
    "copy_bleu": QuantityWords("BLEU of copying", "0 to 100", "BLEU of the sources, taken for translations"),
    "sentence_bleu": QuantityWords(
        "BLEU of a sentence", "0 to 100", "BLEU of one translation alone", larger_is="better"
    ),
}
