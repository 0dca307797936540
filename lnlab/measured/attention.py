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
