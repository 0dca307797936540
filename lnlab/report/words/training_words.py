"""What readers call the quantities of training: name in a sentence, unit or scale, and what it is."""

from collections.abc import Mapping

TRAINING_GLOSSARY: Mapping[str, tuple[str, str, str]] = {
    "loss": (
        "loss",
        "{nats} per {item}",
        "what training makes small, label smoothing included; in training with dropout",
    ),
    "nll": (
        "negative log likelihood",
        "{nats} per {item}",
        "of the right answers, without label smoothing and dropout",
    ),
    "accuracy": ("accuracy", "share of the labels", "of sentences whose most likely label is the right one"),
    "bleu": ("BLEU", "percent", "n-grams of the translation that the reference has too"),
    "learning_rate": (
        "learning rate",
        "per update",
        "of each update: the optimizer's rate times the schedule's factor",
    ),
    "global_gradient_norm": (
        "global gradient norm",
        "{nats} per {item}",
        "of all parameters together, before clipping",
    ),
    "tokens": ("tokens", "per update", "tokens, or sentences, whose losses one update takes the mean of"),
    "unigram_entropy": ("word frequencies", "{nats} per {item}", "entropy of the training targets, one by one"),
    "epoch": ("epoch", "passes over the training split", "updates so far over the updates of an epoch"),
    "gradient_size": ("gradient entry", "{nats} per {item}", "entries of a gradient without their sign"),
    "update_size": ("update entry", "per update", "entries without their sign of what an update adds to the weights"),
    "update_over_rate_size": (
        "update entry over the learning rate",
        "ratio",
        "entries without their sign of what an update adds to the weights, over its learning rate",
    ),
    "epoch_loss": ("loss of an epoch", "{nats} per {item}", "mean over an epoch of the losses of its training batches"),
    "batch_nll": (
        "negative log likelihood with batch statistics",
        "{nats} per {item}",
        "of the right answers, norms over the batch with the statistics of the batch at hand",
    ),
    "batch_accuracy": ("accuracy with batch statistics", "share of the labels", "as the nll with batch statistics"),
}
