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
    "evaluation_gap": (
        "cost of running statistics",
        "{nats}",
        "validation nll with running statistics minus that with the statistics of each batch",
    ),
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
    "learned_fraction": (
        "learned fraction",
        "1 is the reference",
        "of the way from the entropy of the tokens' frequencies down to the reference's median final nll",
    ),
    "final_nll": ("final nll", "{nats} per {item}", "validation negative log likelihood at the end of training"),
    "best_nll_of_run": ("best nll", "{nats} per {item}", "smallest validation negative log likelihood in training"),
    "best_lr": ("best learning rate", "per update", "of the grid, that of the smallest final nll"),
    "optimal_lr": (
        "optimal learning rate",
        "per update",
        "lowest point of a parabola around the best of the grid",
    ),
    "best_lr_nll": ("nll at the best learning rate", "{nats} per {item}", "smallest final nll of the grid"),
    "basin_edge": ("optimum on the edge", "1 if it is", "whether the best learning rate is an end of the grid"),
    "max_stable_lr": ("largest stable learning rate", "per update", "largest of the grid up to which runs train"),
    "max_half_lr": ("largest tolerated learning rate", "per update", "of the grid, up to which runs learn half"),
    "lr_sensitivity": (
        "sensitivity to the learning rate",
        "{nats} per {item}",
        "mean over the grid of the final nll above its smallest",
    ),
    "sum_learning_rate": ("sum of learning rates", "over updates", "how far updates of size 1 could lead"),
    "time_to_target": (
        "time to target",
        "updates",
        "until the validation nll, straight between evaluations, first is at the target",
    ),
    "epochs_to_target": (
        "time to target",
        "epochs",
        "until the validation nll, straight between evaluations, first is at the target",
    ),
    "gradient_size": ("gradient entry", "{nats} per {item}", "entries of a gradient without their sign"),
    "median_gradient_size": (
        "median gradient entry",
        "{nats} per {item}",
        "middle of the entries of a gradient that are not 0, without their sign",
    ),
    "median_update_over_rate": (
        "median update entry over the rate",
        "of the learning rate",
        "middle of the entries of an update that are not 0, without their sign, over its learning rate",
    ),
    "update_size": ("update entry", "per update", "entries without their sign of what an update adds to the weights"),
    "update_over_rate_size": (
        "update entry over the rate",
        "of the learning rate",
        "entries without their sign of what an update adds to the weights, over its learning rate",
    ),
    "epoch_loss": ("loss of an epoch", "{nats} per {item}", "mean over an epoch of the losses of its training batches"),
    "batch_nll": (
        "negative log likelihood with batch statistics",
        "{nats} per {item}",
        "of the right answers, norms over the batch with the statistics of the batch at hand",
    ),
    "batch_accuracy": ("accuracy with batch statistics", "share of the labels", "as the nll with batch statistics"),
    "converged": ("convergence", "1 if it has", "whether a run has converged by the rule that is named"),
    "time_to_converge": (
        "time to converge",
        "updates",
        "to nine tenths of the drop of the loss; ∞ without convergence",
    ),
    "convergence_boundary": (
        "boundary of convergence",
        "steps of the grid",
        "place of the largest converging learning rate, 0 if there is none",
    ),
    "max_converged_lr": ("largest converging learning rate", "per update", "of the grid, 0 if none converges"),
    "convergence_gaps": ("gaps of convergence", "rates", "that do not converge although a larger one does"),
}
