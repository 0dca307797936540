"""What readers call a column of the tables or a path of a setting."""

_NAMES = {"lr": "learning rate", "step": "training step", "d_model": "width", "d_ff": "feed-forward width"}


def path_name(path: str) -> str:
    """``learning rate`` for ``optimizer.lr``, ``batch tokens`` for ``task.batch_tokens``."""
    word = path.rpartition(".")[2]
    return _NAMES.get(word, word.replace("_", " "))
