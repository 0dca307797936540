"""After a clipped update no head's largest logit is above the bound, and heads below it are as without the clip."""

from dataclasses import replace

import pytest
import torch
from torch.optim import SGD

from lnlab.errors import LabError
from lnlab.nn.attention import DotProductAttention


def logits_of(made, batch):
    """The largest logit of each head of each attention, by a product written out, with masks as the model has them."""
    found, hooks = {}, []

    def see(module, inputs):
        x, memory, mask = inputs
        heads, width = module.heads, x.shape[-1] // module.heads
        q, k = (linear(y).unflatten(-1, (heads, width)) for linear, y in ((module.q, x), (module.k, memory)))
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / width**0.5
        allowed = mask.expand_as(scores)
        found[module] = torch.stack([scores[:, h][allowed[:, h]].max() for h in range(heads)])

    for module in made.modules():
        if isinstance(module, DotProductAttention):
            hooks.append(module.register_forward_pre_hook(see))
    with torch.no_grad():
        made(batch)
    for hook in hooks:
        hook.remove()
    return torch.stack(list(found.values()))


def step(made, optimizer, loss, batch, *batches):
    for each in (batch, *batches):
        loss(made(each), each).backward()
    optimizer.step()
    optimizer.zero_grad()


def sharpened(made):
    with torch.no_grad():
        for number, module in enumerate(m for m in made.modules() if isinstance(m, DotProductAttention)):
            module.q.weight *= 1 + number
            module.q.bias += 0.3
    return made


def test_where_nothing_else_moves_the_largest_logit_of_a_head_is_the_bound_and_a_smaller_one_stays(
    model, intervene, batch, loss
):
    made = sharpened(model("post"))
    before = logits_of(made, batch)
    bound = float(before.median())
    optimizer = SGD(made.parameters(), lr=0.0)
    first = made.get_submodule("encoder").layers[0].sublayers["self_attention"]
    others = {name: p.clone() for name, p in made.named_parameters() if ".q." not in name and ".k." not in name}
    with intervene("qk_clip", made, optimizer, most=bound):
        step(made, optimizer, loss, batch)
    # Every layer reads the stream that the layers before it leave, so the oracle is exact in the first.
    torch.testing.assert_close(logits_of(made, batch)[0], before[0].clamp(max=bound))
    assert all(torch.equal(p, others[name]) for name, p in made.named_parameters() if name in others)
    assert first.q.weight.requires_grad


def test_a_head_is_scaled_by_its_own_factor_in_queries_and_keys_with_their_biases(model, intervene, batch, loss):
    made = sharpened(model("pre"))
    before = logits_of(made, batch)
    bound = float(before.median())
    module = [m for m in made.modules() if isinstance(m, DotProductAttention)]
    weights = [[p.clone() for p in (m.q.weight, m.q.bias, m.k.weight, m.k.bias)] for m in module]
    optimizer = SGD(made.parameters(), lr=0.0)
    with intervene("qk_clip", made, optimizer, most=bound):
        step(made, optimizer, loss, batch)
    for m, kept, maxima in zip(module, weights, before, strict=True):
        factor = (bound / maxima).clamp(max=1).sqrt().repeat_interleave(len(kept[0]) // len(maxima))
        for now, then in zip((m.q.weight, m.q.bias, m.k.weight, m.k.bias), kept, strict=True):
            torch.testing.assert_close(now, then * (factor[:, None] if then.ndim == 2 else factor))


def test_a_bound_that_nothing_reaches_changes_no_bit(model, intervene, batch, loss):
    one, other = model("post"), model("post")
    for made, most in ((one, 1e9), (other, None)):
        optimizer = SGD(made.parameters(), lr=0.1)
        if most is None:
            step(made, optimizer, loss, batch)
        else:
            with intervene("qk_clip", made, optimizer, most=most):
                step(made, optimizer, loss, batch)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_the_maximum_is_over_all_batches_of_the_update_and_over_none_that_a_probe_sees(model, intervene, batch, loss):
    small = replace(batch, source=batch.source[:1], target_in=batch.target_in[:1], target_out=batch.target_out[:1])

    def clipped(*parts, probed=None):
        made = sharpened(model("post"))
        optimizer = SGD(made.parameters(), lr=0.0)
        with intervene("qk_clip", made, optimizer, most=0.2):
            if probed is not None:
                logits = made(probed)
                torch.autograd.grad(
                    loss(logits, probed), [p for p in made.parameters() if p.requires_grad], allow_unused=True
                )
            step(made, optimizer, loss, *parts)
        return [p.detach() for p in made.parameters()]

    for a, b in zip(clipped(small, batch), clipped(batch), strict=True):
        torch.testing.assert_close(a, b)
    for a, b in zip(clipped(small, probed=batch), clipped(small), strict=True):
        assert torch.equal(a, b)


def test_attention_whose_logits_do_not_follow_its_matrices_is_refused(model, intervene, golden):
    made = model("post")
    for module in made.modules():
        if isinstance(module, DotProductAttention):
            torch.nn.utils.parametrizations.spectral_norm(module.q)
    with golden.raises(LabError):
        intervene("qk_clip", made, SGD(made.parameters(), lr=1)).__enter__()
    with pytest.raises(LabError):
        intervene("qk_clip", model("post"), None).__enter__()
