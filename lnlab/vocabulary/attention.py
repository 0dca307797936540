"""What readers call the quantities of attention: name, unit and definition of each."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords

ATTENTION_LOGITS: Mapping[str, QuantityWords] = {
    "attention_logit_max": QuantityWords(
        "largest attention logit", "before the softmax", "largest scaled product of a query and a visible key"
    ),
    "attention_entropy": QuantityWords(
        "attention entropy", "{nats}", "entropy of the attention weights, mean over queries"
    ),
}
ATTENTION_SINK: Mapping[str, QuantityWords] = {
    "first_key_share": QuantityWords(
        "attention on the first key", "share", "weight of the first key, mean over queries", "p₁"
    ),
    "query_norm": QuantityWords("query norm", "Euclidean", "mean norm of a query of a head", "‖q‖"),
    "key_norm": QuantityWords("key norm", "Euclidean", "mean norm of a key of a head", "‖k‖"),
    "value_norm": QuantityWords("value norm", "Euclidean", "mean norm of a value of a head", "‖v‖"),
}
