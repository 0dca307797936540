"""Signs of a collapse of attention: the largest logit of all heads, and the layer of the lowest entropy."""

import polars as pl

from lnlab.analyse.quantities.training import as_run_quantity
from lnlab.facts import QuantityWords
from lnlab.select.quantity import STATE, quantities, stored_rows
from lnlab.tables import Results
from lnlab.vocabulary.attention import ATTENTION_LOGITS

_LARGEST, _ENTROPY = ATTENTION_LOGITS


@quantities.register(
    "largest_attention_logit",
    words=QuantityWords("largest attention logit of all", "before the softmax", "over all layers and heads"),
    of=(_LARGEST,),
)
def largest_attention_logit(results: Results) -> pl.DataFrame:
    """``max_{layer, head} max q·k/√d``: beyond some value one key takes all the weight (Wortsman et al., 2023).

    A NaN makes the whole NaN.
    """
    logits = stored_rows(results, _LARGEST).group_by(STATE, maintain_order=True)
    return as_run_quantity(logits.agg(pl.col("value").nan_max()), "largest_attention_logit")


@quantities.register(
    "lowest_attention_entropy",
    words=QuantityWords("attention entropy of the lowest layer", "{nats}", "mean over heads, where it is smallest"),
    of=(_ENTROPY,),
)
def lowest_attention_entropy(results: Results) -> pl.DataFrame:
    """``min_layer E_head H``: attention has collapsed where it is near 0 in a layer (Zhai et al., 2023, Section 3).

    A NaN makes the whole NaN.
    """
    entropies = stored_rows(results, _ENTROPY)
    layers = entropies.group_by(*STATE, "stack", "layer", "sublayer", maintain_order=True).agg(pl.col("value").mean())
    lowest = layers.group_by(STATE, maintain_order=True).agg(pl.col("value").nan_min())
    return as_run_quantity(lowest, "lowest_attention_entropy")
