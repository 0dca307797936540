"""Names for readers of the operators and scopes of spectra."""

from collections.abc import Mapping

OPERATOR_NAMES: Mapping[str, str] = {
    "hessian": "Hessian",
    "ggn": "GGN",
    "hessian_minus_ggn": "Hessian minus GGN",
    "preconditioned_hessian": "Hessian in Adam's coordinates",
    "preconditioned_ggn": "GGN in Adam's coordinates",
    "preconditioned_hessian_minus_ggn": "Hessian minus GGN in Adam's coordinates",
}
"""What operators are called in a sentence."""
SCOPE_NAMES: Mapping[str, str] = {
    "all": "all parameters",
    "without_embeddings": "all but embeddings",
    "attention_qk": "attention q, k",
    "attention_vo": "attention v, o",
    "feed_forward": "feed-forward networks",
}
"""What scopes are called where their words do not say it."""


def matrix_in_words(operator: str, scope: str) -> str:
    """``Hessian of all parameters``."""
    return f"{OPERATOR_NAMES.get(operator, operator)} of {SCOPE_NAMES.get(scope, scope)}"
