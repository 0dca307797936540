"""ViT of ``transformers`` and of ``timm``."""

from collections.abc import Mapping

from lnlab.outside.own_model.families.family import Family, block, pre_norm_stream

VISION: Mapping[str, tuple[Family, ...]] = {
    "Block": (
        Family(
            "timm.models.vision_transformer",
            block(
                "encoder",
                {
                    "norm1": "self_attention",
                    "attn.qkv": "self_attention.q/k/v",
                    "attn.proj": "self_attention.o",
                    "norm2": "feed_forward",
                    "mlp.fc1": "feed_forward.w1",
                    "mlp.fc2": "feed_forward.w2",
                },
            ),
            block("encoder", pre_norm_stream("norm1", "ls1", "norm2", "ls2")),
        ),
    ),
    "VisionTransformer": (
        Family(
            "timm.models.vision_transformer",
            {
                "cls_token": "encoder.embedding.class_token",
                "pos_embed": "encoder.embedding.positions",
                "patch_embed.proj": "encoder.embedding.patches",
                "norm": "encoder.final_norm",
            },
            {"norm_pre": "encoder.embedding.out", "norm": "encoder.final_norm.out"},
        ),
    ),
    "ViTLayer": (
        Family(
            "transformers",
            block(
                "encoder",
                {
                    "layernorm_before": "self_attention",
                    **{f"attention.{tensor}_proj": f"self_attention.{tensor}" for tensor in ("q", "k", "v", "o")},
                    "layernorm_after": "feed_forward",
                    "mlp.fc1": "feed_forward.w1",
                    "mlp.fc2": "feed_forward.w2",
                },
            ),
            block("encoder", pre_norm_stream("layernorm_before", "attention", "layernorm_after", "mlp")),
        ),
    ),
    "ViTEmbeddings": (
        Family(
            "transformers",
            {
                "cls_token": "encoder.embedding.class_token",
                "position_embeddings": "encoder.embedding.positions",
                "patch_embeddings.projection": "encoder.embedding.patches",
            },
            {"dropout": "encoder.embedding.out"},
        ),
    ),
    "ViTModel": (Family("transformers", {"layernorm": "encoder.final_norm"}, {"layernorm": "encoder.final_norm.out"}),),
}
