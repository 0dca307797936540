"""What tests of models and probes need of them: our weights in torch's layers, and what stacks give on."""

import torch
from torch import nn


def copy_layer(ours, theirs: nn.Module) -> nn.Module:
    """Our attentions and our feed-forward network in a layer of torch, whose norms stay as they are."""
    for name, source in (("self_attn", ours.self_attention), ("multihead_attn", ours.cross_attention)):
        if source is not None:
            target = getattr(theirs, name)
            with torch.no_grad():
                target.in_proj_weight.copy_(torch.cat([source.q.weight, source.k.weight, source.v.weight]))
                target.in_proj_bias.copy_(torch.cat([source.q.bias, source.k.bias, source.v.bias]))
            target.out_proj.load_state_dict(source.o.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.w1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.w2.state_dict())
    return theirs


def stack_outputs(model, batch) -> dict[str, torch.Tensor]:
    """What the stacks give on, tokens alone, by hooks."""
    seen = {}
    hooks = [
        getattr(model, stack).register_forward_hook(lambda _m, _x, y, stack=stack: seen.__setitem__(stack, y))
        for stack in ("encoder", "decoder")
    ]
    with torch.no_grad():
        model(batch)
    for hook in hooks:
        hook.remove()
    return {"encoder": seen["encoder"][batch.source != 0], "decoder": seen["decoder"][batch.target_in != 0]}
