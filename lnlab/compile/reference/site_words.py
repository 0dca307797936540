"""What the words of a site mean: stacks, sublayers and tensors, by which a selection names a place in a model."""

from collections.abc import Mapping

SITE_WORDS: Mapping[str, Mapping[str, str]] = {
    "stack": {
        "encoder": "the encoder, or an encoder alone",
        "decoder": "the decoder of an encoder-decoder, or a language model",
    },
    "sublayer": {
        "self_attention": "self-attention and its residual branch",
        "cross_attention": "attention of the decoder to the encoder's output",
        "feed_forward": "the feed-forward network",
        "embedding": "token embeddings with positions, before the first layer (no `layer`)",
        "final_norm": "the norm after the last layer (no `layer`)",
        "output": "the output projection or the classifier (no `layer`)",
    },
    "tensor": {
        "q, k, v, o": "matrices of attention: queries, keys, values, output",
        "w1, w2": "matrices of the feed-forward network: into it and out of it",
        "bq, bk, bv, bo, b1, b2": "their biases",
        "weight, bias": "of a linear map that is neither",
        "table": "rows of an embedding table",
        "scale, shift": "gain and bias of a norm",
        "scale_outer, shift_outer": "of the second norm of a sublayer, as in sandwich placements",
        "scale_q, shift_q, scale_k, shift_k": "of norms of queries and keys",
        "alpha, omega, gate, gain": "scalars and vectors on a residual branch, as in DyT, Admin, ReZero and LayerScale",
        "gain_q, gain_k, gain_v, gain_o, gain_w1, gain_w2": "gains of reparametrized matrices",
        "logit_gain": "gain of the attention logits",
        "in": "activation: the residual stream as it enters the sublayer",
        "branch": "activation: what the sublayer adds",
        "sum": "activation: the stream after the addition, before a norm that follows",
        "out": "activation: what the sublayer passes on",
        "logits": "activation: what a softmax is of, in attention and at the output",
    },
}
"""Column -> words, or several of one meaning, separated by commas -> meaning."""
