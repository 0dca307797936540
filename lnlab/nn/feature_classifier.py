"""A classifier on top of a frozen encoder: new layers read the output of an encoder from another run."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from torch import nn

from lnlab.nn.attention import DropoutRate, attentions
from lnlab.nn.embedding import Positions
from lnlab.nn.encoder import Classifier
from lnlab.nn.models import Count, FeedForwardChoice, LinearChoice, models
from lnlab.nn.norms import norms
from lnlab.nn.parts import Parts
from lnlab.nn.placements import placements
from lnlab.nn.size import feature_classifier_size
from lnlab.nn.transformer import Features, ModelShape, Stack
from lnlab.registry import default


@models.register(
    "feature_classifier",
    stacks=("encoder",),
    causal=(),
    says="sentence",
    averages=lambda model: model["pool"] == "mean",
    size=feature_classifier_size,
    later=("feed_forward",),
)
class FeatureClassifier(Classifier):
    """``weight pool(encoder(features(source))) + bias``: new layers on a frozen encoder (Xu et al., 2021, Figure 1).

    The encoder of another run, of ``feature_layers`` layers with the same d_model, heads and d_ff, stands in place of
    the embedding; no gradient reaches it, and it has no dropout. Its weights come from there by ``init: {kind:
    from_run, spec: ..., parts: {encoder.embedding.frozen: encoder}}``, and are random without. ``norm``, ``placement``
    and ``model.layers`` are those of the new layers; ``feature_norm``, ``feature_placement`` and ``feature_attention``
    are those of the frozen ones. ``pool`` averages over the tokens of a sentence, or takes its first.
    """

    def __init__(
        self,
        size: int,
        parts: Mapping[str, Parts],
        labels: int,
        *,
        d_model: Count,
        heads: Count,
        d_ff: Count,
        feature_layers: Count = 2,
        feature_norm: Annotated[Callable[..., nn.Module], norms] = default("layer"),
        feature_placement: Annotated[Callable[..., nn.Module], placements] = default("post"),
        feature_attention: Annotated[Callable[..., nn.Module], attentions] = default("softmax"),
        dropout: DropoutRate = 0.0,
        pool: Literal["mean", "first"] = "mean",
        positions: Positions = "sinusoids",
        linear: LinearChoice = default("plain"),
        feed_forward: FeedForwardChoice = default("relu"),
    ) -> None:
        super().__init__(
            size,
            parts,
            labels,
            d_model=d_model,
            heads=heads,
            d_ff=d_ff,
            dropout=dropout,
            pool=pool,
            positions=positions,
            linear=linear,
            feed_forward=feed_forward,
        )
        frozen = Parts(feature_layers, feature_norm, feature_placement, feature_attention)
        shape = ModelShape(
            size=size,
            width=d_model,
            heads=heads,
            d_ff=d_ff,
            positions=positions,
            linear=linear,
            feed_forward=feed_forward,
        )
        self.encoder.embedding = Features(Stack("features", frozen, None, shape))  # type: ignore[assignment]
