"""BERT of ``transformers``, whose norms stand behind the additions."""

from collections.abc import Mapping

from lnlab.outside.own_model.families.family import Family, block

_BERT_ATTENTION = {"self.query": "q", "self.key": "k", "self.value": "v", "output.dense": "o"}


BERT: Mapping[str, tuple[Family, ...]] = {
    "BertLayer": (
        Family(
            "transformers",
            block(
                "encoder",
                {
                    **{f"attention.{path}": f"self_attention.{t}" for path, t in _BERT_ATTENTION.items()},
                    "attention.output.LayerNorm": "self_attention",
                    **{f"crossattention.{path}": f"cross_attention.{t}" for path, t in _BERT_ATTENTION.items()},
                    "crossattention.output.LayerNorm": "cross_attention",
                    "intermediate.dense": "feed_forward.w1",
                    "output.dense": "feed_forward.w2",
                    "output.LayerNorm": "feed_forward",
                },
            ),
            block(
                "encoder",
                {
                    "attention.self:input": "self_attention.in",
                    "attention.output.dense": "self_attention.branch",
                    "attention.output.LayerNorm:input": "self_attention.sum",
                    "attention.output.LayerNorm": "self_attention.out",
                    "intermediate.dense:input": "feed_forward.in",
                    "output.dense": "feed_forward.branch",
                    "output.LayerNorm:input": "feed_forward.sum",
                    "output.LayerNorm": "feed_forward.out",
                },
            ),
        ),
    ),
    "BertEmbeddings": (
        Family(
            "transformers",
            {
                "word_embeddings": "encoder.embedding.table",
                "position_embeddings": "encoder.embedding.positions",
                "token_type_embeddings": "encoder.embedding.segments",
                "LayerNorm": "encoder.embedding",
            },
            {"LayerNorm": "encoder.embedding.out"},
        ),
    ),
    "BertLMPredictionHead": (Family("transformers", {"decoder.weight": "output.table"}),),
}
