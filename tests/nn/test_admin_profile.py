"""Admin's profile against its closed form, and against the profile that its authors published."""

import math

import pytest
import torch

from lnlab.execute.program import initializer
from lnlab.nn.inits import inits
from lnlab.nn.sites import Site, activations, parameter_uses
from lnlab.nn.transformer import stacks
from lnlab.randomness import Draw

PROFILED = {"kind": "admin", "start": "profiled"}
PUBLISHED = (1.0, 1.3190, 1.4550, 1.5123, 1.6428, 1.6959, 1.8100, 1.8668, 1.9713)
"""Base size, 100 layers, WMT'14 English-German, dropout 0.1: the first omegas of the encoder."""


def omegas(model, stack: str) -> list[float]:
    """Omega of every sublayer of a stack, which must be a constant vector."""
    found = [omega for layer in getattr(model, stack).layers for omega in layer.placement.omega]
    assert all(len(omega.unique()) == 1 for omega in found)
    return [omega[0].item() for omega in found]


def closed_form(model, batch, stack: str) -> list[float]:
    """1, then sqrt(Var x_0 + Σ_{j<i} Var f_j), from what the model does once its omegas are in place."""
    here = {"encoder": batch.source, "decoder": batch.target_in}[stack] != 0
    with activations(model) as seen, torch.no_grad():
        model(batch)
    square = seen[Site(stack, None, "embedding", "out")][here].double().var(correction=0).item()
    found = [1.0]
    for number, layer in enumerate(getattr(model, stack).layers, 1):
        for name in layer.sublayers:
            square += seen[Site(stack, number, name, "branch")][here].double().var(correction=0).item()
            found.append(math.sqrt(square))
    return found[:-1]


@pytest.mark.parametrize("of", ["xavier_normal", "fairseq", "small_init"])
def test_omega_is_the_root_of_the_variances_before_it(setting, build, data, of):
    model = build(setting(PROFILED, layers=3), init={"kind": "admin", "of": of})
    for stack, sublayers in (("encoder", 6), ("decoder", 9)):
        assert len(omegas(model, stack)) == sublayers
        assert omegas(model, stack) == pytest.approx(closed_form(model, data(1)[0], stack), rel=1e-4)


def test_omega_is_not_a_number_until_it_is_profiled_and_only_what_waits_is_written(setting, build):
    omega = [p for site, p in parameter_uses(build(setting(PROFILED))) if site.tensor == "omega"]
    assert len(omega) == 2 * (2 + 3)
    assert torch.cat(omega).isnan().all()
    chosen = setting("post", encoder={"placement": PROFILED}, decoder={"placement": PROFILED | {"start": "log"}})
    plain, profiled = (build(chosen, init=init) for init in ("fairseq", {"kind": "admin", "of": "fairseq"}))
    for (site, p), (_, q) in zip(parameter_uses(plain), parameter_uses(profiled), strict=True):
        assert torch.equal(p, q) is not (site.stack == "encoder" and site.tensor == "omega"), site


def test_padding_does_not_count(setting, build, data):
    def padded(n, split="train"):
        return [
            type(batch)(*(torch.nn.functional.pad(t, (0, 4)) for t in (batch.source, batch.target_in)))
            for batch in data(n, split)
        ]

    model, other = (build(setting(PROFILED)) for _ in range(2))
    for each, batches in ((model, data), (other, padded)):
        initializer(inits.resolve("admin"), inits, batches)(each, Draw(1))
    for stack in ("encoder", "decoder"):
        assert omegas(model, stack) == pytest.approx(omegas(other, stack), rel=1e-5)


def test_a_profile_leaves_no_trace_but_omega(setting, build, init):
    model = build(setting(PROFILED, dropout=0.3, encoder={"norm": {"kind": "batch", **BATCH}})).train()
    model.encoder.layers[1].eval()
    state, modes = torch.get_rng_state(), [module.training for module in model.modules()]
    buffers = [b.clone() for b in model.buffers()]
    for dropout in (False, True):
        init(model, {"kind": "admin", "dropout": dropout})
        assert [module.training for module in model.modules()] == modes
        assert torch.equal(torch.get_rng_state(), state)
        assert all(map(torch.equal, model.buffers(), buffers))
        assert not any(m._forward_pre_hooks for m in model.modules())


BATCH = {"eps": 1e-5, "momentum": 0.1, "naive": False}


def test_dropout_is_drawn_by_its_address(setting, build):
    chosen = setting(PROFILED, dropout=0.1)
    one, two, off = (build(chosen, init={"kind": "admin", "dropout": dropout}) for dropout in (True, True, False))
    assert omegas(one, "encoder") == omegas(two, "encoder") != omegas(off, "encoder")
    other = build(chosen, init={"kind": "admin", "dropout": True}, seed=2)
    assert omegas(one, "encoder") != omegas(other, "encoder")


@pytest.fixture(scope="module")
def profiles(setting, build):
    """By dropout: omega of an encoder of 10 layers, d_ff = 4 d, on 16 sentences of 25 tokens that Zipf would write."""
    generator = torch.Generator().manual_seed(0)
    tokens = 1 + torch.multinomial(1 / torch.arange(1.0, 1000), 2 * 16 * 25, True, generator=generator)

    class Text:
        source, target_in = tokens.view(2, 16, 25)

    found = {}
    for dropout in (0.0, 0.1):
        chosen = setting(PROFILED, layers=10, width=128, d_ff=512, rows=1000, heads=8, dropout=dropout)
        choice = inits.resolve({"kind": "admin", "of": "fairseq", "dropout": dropout > 0})
        model = build(chosen)
        assert list(stacks(model)) == ["encoder", "decoder"]
        initializer(choice, inits, lambda n, split="train": [Text])(model, Draw(1))
        found[dropout] = omegas(model, "encoder")
    return found


def test_the_profile_is_that_of_the_authors_and_dropout_changes_omega_slightly(profiles):
    """Theirs is of other text and another size, and has dropout in the branches and in the attention too."""
    assert profiles[0.1][:9] == pytest.approx(PUBLISHED, rel=0.06)
    # Variances grow by 1 / (1 - p): at p = 0.1 omega by at most 5.4 % through the branches, and x_0 has it too.
    ratios = [on / off for on, off in zip(profiles[0.1][1:], profiles[0.0][1:], strict=True)]
    assert profiles[0.1][0] == profiles[0.0][0] == 1
    assert all(1.01 < ratio < 1.08 for ratio in ratios)


def growth(omega: list[float]) -> tuple[float, float]:
    """By how much omega² grows a layer, and by how much at a feed-forward network alone, in the mean over layers."""
    squares = [each**2 for each in omega]
    networks = [after - before for before, after in zip(squares[1::2], squares[2::2], strict=False)]
    return (squares[18] - squares[2]) / 8, sum(networks) / len(networks)


@pytest.mark.parametrize(("dropout", "published"), [(0.1, 0.55), (0.0, None)])
def test_omega_squared_grows_by_the_variance_of_the_branches(profiles, dropout, published):
    """A feed-forward network with r = 4 has variance 2 r / (1 + r)² = 0.32, over 1 - p with dropout.

    The authors' omega² grows by 0.55 a layer. Without dropout theory gives 0.32 and the attention's v rho on top, with
    v = 1/2 the variance of v and o and rho the likeness of the tokens: between 0.32, for tokens that are not alike, and
    0.82, for equal ones.
    """
    layer, network = growth(profiles[dropout])
    assert network == pytest.approx(0.32 / (1 - dropout), rel=0.06)
    assert layer == pytest.approx(published, rel=0.1) if published else 0.32 < layer < 0.82
