"""What readers call the quantities of spectra, as ``glossary`` has them."""

from collections.abc import Mapping

LOSS_UNIT = "{nats} per {item} and squared parameter"

SPECTRAL_GLOSSARY: Mapping[str, tuple[str, str, str]] = {
    "largest_eigenvalue": ("largest eigenvalue", LOSS_UNIT, "largest Ritz value of all draws"),
    "smallest_eigenvalue": ("smallest eigenvalue", LOSS_UNIT, "smallest Ritz value of all draws"),
    "negative_curvature": ("most negative curvature", LOSS_UNIT, "smallest eigenvalue without its sign"),
    "end_residual": ("relative residual", "of the spectral radius", "how far an end may lie from an eigenvalue"),
    "end_symmetry": ("symmetry of the ends", "ratio", "most negative eigenvalue over the largest, without its sign"),
    "curvature_trace": ("trace", LOSS_UNIT, "sum of all eigenvalues"),
    "frobenius_norm": ("Frobenius norm", LOSS_UNIT, "square root of the sum of all squared eigenvalues"),
    "negative_mass": ("negative mass", "of all directions", "share of the eigenvalues that are negative"),
    "negative_share": ("negative share", "of the squared norm", "share of the squared eigenvalues that are negative"),
    "effective_rank": ("effective rank", "eigenvalues", "how many equal eigenvalues would make the same norm"),
    "relative_sharpness": ("relative sharpness", "{nats} per {item}", "largest eigenvalue times ‖θ‖² of the scope"),
    "eigenvalues_beyond": ("eigenvalues beyond x", "number", "how many eigenvalues lie farther than x from 0"),
    "outliers": ("outliers", "at least", "eigenvalues that stand alone at either end"),
    "bulk_radius": ("bulk radius", LOSS_UNIT, "how far from 0 what is no outlier reaches"),
    "ggn_sharpness_share": (
        "GGN's share of the sharpness",
        "ratio",
        "largest eigenvalue of the GGN over the Hessian's",
    ),
    "ggn_frobenius_share": ("GGN's share of the norm", "ratio", "Frobenius norm of the GGN over the Hessian's"),
    "beyond_ggn_share": ("share beyond the GGN", "ratio", "Frobenius norm of H − G over the Hessian's"),
    "ggn_share_of_extra_sharpness": (
        "GGN's share of the extra sharpness",
        "ratio",
        "what Post-LN has more than Pre-LN in the GGN's largest eigenvalue, over what it has more in the Hessian's",
    ),
    "ggn_share_of_extra_frobenius": (
        "GGN's share of the extra squared norm",
        "ratio",
        "what Post-LN has more than Pre-LN in the GGN's squared Frobenius norm, over what it has more in the Hessian's",
    ),
}
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
