"""What readers call the quantities of Adam's moments: name, unit and definition of each."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords
from lnlab.vocabulary.gradients import UNRESOLVED_SHARE

ADAPTIVE_RATE: Mapping[str, QuantityWords] = {
    "adaptive_rate_median": QuantityWords(
        "adaptive rate", "in units of the learning rate", "median of Adam's rates of the entries"
    ),
    "adaptive_rate_min": QuantityWords(
        "smallest adaptive rate", "in units of the learning rate", "smallest of Adam's rates of the entries"
    ),
    "adaptive_rate_max": QuantityWords(
        "largest adaptive rate", "in units of the learning rate", "largest of Adam's rates of the entries"
    ),
    "near_epsilon_share": QuantityWords(
        "share near epsilon", "of the entries", "share of entries where √v̂ is below 10 ε"
    ),
    "moment_ratio": QuantityWords("moment ratio", "|m̂| over √v̂", "median ratio of Adam's moments over the entries"),
    "total_moment_ratio": QuantityWords(
        "moment ratio", "|m̂| over √v̂", "median ratio of Adam's moments over all weights"
    ),
    "adaptive_rate_unresolved_share": UNRESOLVED_SHARE,
}
PSI_VARIANCE: Mapping[str, QuantityWords] = {
    "psi_variance": QuantityWords("variance of ψ", "squared rate", "of Adam's rate over simulated gradients"),
    "psi_variance_of_samples": QuantityWords(
        "variance of ψ in samples", "squared rate", "of Adam's rate, by the size of a sample"
    ),
    "averaged_gradients": QuantityWords("averaged gradients", "ρ", "gradients that Adam's second moment is worth"),
    "rectification": QuantityWords("rectification", "factor r", "RAdam's factor on the rate"),
    "rectified_variance": QuantityWords("variance of r ψ", "squared rate", "of RAdam's rate over simulated gradients"),
    "psi_variance_law": QuantityWords(
        "variance of ψ, closed form", "squared rate", "of Adam's rate for ρ averaged gradients"
    ),
    "psi_variance_first_order": QuantityWords(
        "variance of ψ, first order", "squared rate", "of Adam's rate for ρ gradients"
    ),
}
