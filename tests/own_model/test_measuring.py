"""Against autograd and dense Hessians by hand; and nothing is left on a model."""

import copy

import polars as pl
import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError

WITH_BIASES = {"kind": "gradient_norm", "biases": True}


def by_path(frame, quantity="gradient_norm"):
    rows = frame.filter(pl.col("quantity") == quantity)
    return dict(zip(rows["path"], rows["value"], strict=True))


def gradients_by_hand(model, batches, loss):
    """Of the loss per item over all batches, by ``backward``."""
    model = copy.deepcopy(model).eval()
    total = count = 0
    for batch in batches:
        out = loss(model, batch)
        part, n = out if isinstance(out, tuple) else (out, 1)
        total, count = total + part, count + n
    (total / count).backward()
    return {name: p.grad for name, p in model.named_parameters()}


def test_gradient_norms_of_a_nano_gpt_are_those_of_backward(nano, nano_sites, tokens, language_loss):
    torch.manual_seed(1)
    model = nano()
    m = lnlab.measure(model, tokens, language_loss, probes=[WITH_BIASES], sites=nano_sites)
    expected = gradients_by_hand(model, tokens, language_loss)
    norms = by_path(m.frame("gradient_norm"))
    assert set(expected) - set(norms) == set()
    for name, gradient in expected.items():
        assert norms[name] == pytest.approx(gradient.norm().item(), rel=1e-5), name


def test_the_largest_eigenvalue_is_that_of_the_dense_hessian():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    batches = [(torch.randn(7, 3).double(), torch.randn(7, 2).double()) for _ in range(2)]

    def loss(f, batch):
        return (f(batch[0]) - batch[1]).square().mean()

    m = lnlab.measure(model, batches, loss, probes=["hessian_spectrum", {"kind": "sharpness", "tolerance": 1e-5}])
    names, values = zip(*((n, p.detach()) for n, p in model.named_parameters()), strict=True)
    sizes = [v.numel() for v in values]

    def of_flat(flat):
        parts = [part.view_as(v) for part, v in zip(flat.split(sizes), values, strict=True)]
        call = torch.func.functional_call
        losses = [(call(model, dict(zip(names, parts, strict=True)), x) - y).square().mean() for x, y in batches]
        return sum(losses) / len(losses)

    dense = torch.autograd.functional.hessian(of_flat, torch.cat([v.flatten() for v in values]))
    largest = torch.linalg.eigvalsh(dense)[-1].item()
    assert m.frame("hessian_spectrum")["node"].max() == pytest.approx(largest, rel=1e-3)
    sharpness = m.frame("sharpness").filter(pl.col("quantity") == "sharpness")["value"].item()
    assert sharpness == pytest.approx(largest, rel=1e-3)


class Counting(nn.Module):
    """A forward pass writes to the module itself, and a hook of its owner's is on it."""

    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.BatchNorm1d(4), nn.Linear(4, 1)
        self.register_buffer("passes", torch.zeros(()))
        self.out.bias.requires_grad_(False)
        self.train()
        self.norm.eval()

    def forward(self, x):
        self.passes += 1
        self.last = x
        return self.out(self.norm(x))


def test_nothing_is_left_on_the_model(mean_square):
    model = Counting()
    model.out.weight.grad = torch.ones(1, 4)
    model.register_forward_hook(lambda *_: None)
    state = {name: t.clone() for name, t in model.state_dict().items()}
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in model.modules()]
    torch.manual_seed(4)
    generator = torch.get_rng_state()
    probes = [
        WITH_BIASES,
        "parameter_size",
        "sharpness",
        "gradient_histogram",
        {"kind": "hessian_spectrum", "draws": 1},
    ]
    lnlab.measure(model, [torch.ones(5, 4).cumsum(0)], mean_square, probes=probes)
    assert torch.equal(generator, torch.get_rng_state())
    assert all(torch.equal(t, state[name]) for name, t in model.state_dict().items())
    assert [m.training for m in model.modules()] == [True, False, True]
    assert torch.equal(model.out.weight.grad, torch.ones(1, 4))
    assert [p.grad is None for p in (model.norm.weight, model.norm.bias, model.out.bias)] == [True] * 3
    assert [p.requires_grad for p in model.parameters()] == [True, True, True, False]
    assert hooks == [
        (len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in model.modules()
    ]
    assert not hasattr(model, "last")


def test_each_seed_has_its_own_weights_and_the_same_batches(mean_square):
    m = lnlab.measure(lambda _: nn.Linear(4, 3), iter([torch.ones(2, 4)]), mean_square, probes=["parameter_size"])
    values = m.frame("parameter_norm").filter(pl.col("path") == "weight")
    assert values["seed"].to_list() == [1, 2, 3, 4, 5]
    assert values["value"].n_unique() == 5
    again = lnlab.measure(lambda _: nn.Linear(4, 3), [torch.ones(2, 4)], mean_square, probes=["parameter_size"])
    assert again.frame("parameter_norm").equals(m.frame("parameter_norm"))


def test_batches_without_end_are_read_as_far_as_a_probe_asks(mean_square):
    read = []

    def endless():
        while True:
            read.append(1)
            yield torch.ones(2, 4)

    lnlab.measure(nn.Linear(4, 3), endless(), mean_square, probes=[{"kind": "gradient_norm", "batches": 3}])
    assert len(read) == 3


@pytest.mark.parametrize(("factor", "verdict"), [(3.0, "supported"), (1.0, "contradicted")])
def test_claims_compare_models_by_name(mean_square, factor, verdict):
    def scaled(by):
        def build(_):
            model = nn.Linear(4, 3)
            with torch.no_grad():
                model.weight.mul_(by)
            return model

        return build

    builds = {"plain": scaled(1.0), "scaled": scaled(factor)}
    m = lnlab.measure(builds, [torch.ones(2, 4)], mean_square, probes=["parameter_size"])
    of = {"quantity": "parameter_norm", "tensor": "weight", "model": "scaled"}
    claim = {"id": "larger", "kind": "ratio", "of": of, "to": {"model": "plain"}, "equals": 3.0}
    assert [v.verdict for v in m.judge([claim])] == [verdict]
    assert m.judge([claim])[0].estimate == pytest.approx(factor, rel=1e-4)


def test_an_expression_is_framed_drawn_and_judged_like_a_quantity(mean_square):
    m = lnlab.measure(lambda _: nn.Linear(4, 3), [torch.ones(2, 4)], mean_square, probes=["parameter_size"], seeds=3)
    stored, doubled = m.frame("parameter_norm"), m.frame("2*parameter_norm")
    assert doubled["value"].to_list() == [2 * value for value in stored["value"]]
    chart = str(m.plot("double = 2 * parameter_norm [stones]").to_dict())
    assert "double, stones" in chart
    assert "parameter norm" in str(m.plot("parameter_norm[tensor: weight] / 2").to_dict())  # of no place
    of = {"quantity": {"expr": "parameter_norm / parameter_norm", "unit": "ratio"}, "tensor": "weight"}
    claim = {"id": "one", "kind": "bound", "of": of, "exact": True, "at_least": 1.0}
    assert [verdict.verdict for verdict in m.judge([claim])] == ["supported"]
    flawed = {**claim, "of": {**of, "quantity": {"expr": "parameter_norm //", "unit": "ratio"}}}
    for call in (lambda: m.judge([flawed]), lambda: m.frame("parameter_norm * x"), lambda: m.plot("parameter_norm /")):
        with pytest.raises(LabError):
            call()


@pytest.mark.parametrize(
    "name",
    [
        "gradient_norm",
        *(pytest.param(n, marks=pytest.mark.nightly) for n in ("hessian_spectrum", "parameter_rms", "sharpness")),
    ],
)
def test_charts_hold_every_seed(name, nano, nano_sites, tokens, language_loss):
    probes = ["gradient_norm", "parameter_size", {"kind": "hessian_spectrum", "draws": 1, "steps": 3}, "sharpness"]
    m = lnlab.measure(lambda _: nano(1), tokens, language_loss, probes=probes, seeds=2, sites=nano_sites)
    chart = m.plot(name).to_dict()
    data = [row for rows in chart["datasets"].values() for row in rows]
    assert {str(row["seed"]) for row in data} == {"1", "2"}


@pytest.fixture
def tf32():
    """Both switches are on; as they were afterwards."""
    backends = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [backend.allow_tf32 for backend in backends]
    for backend in backends:
        backend.allow_tf32 = True
    yield lambda: [backend.allow_tf32 for backend in backends]
    for backend, allowed in zip(backends, before, strict=True):
        backend.allow_tf32 = allowed


def test_products_on_a_gpu_are_float32_inside_and_as_before_outside(mean_square, tf32):
    seen = []

    def loss(model, x):
        seen.append(tf32())
        return mean_square(model, x)

    lnlab.measure(nn.Linear(4, 3), [torch.ones(2, 4)], loss)
    assert seen
    assert all(allowed == [False, False] for allowed in seen)
    assert tf32() == [True, True]
    with pytest.raises(LabError):
        lnlab.measure(nn.Linear(4, 3), [torch.ones(2, 4)], lambda *_: None)
    assert tf32() == [True, True]


@pytest.mark.cuda
def test_a_model_on_a_gpu_is_measured_there_as_on_the_cpu(nano, tokens, language_loss):
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU: torch sees no cuda device")
    torch.manual_seed(5)
    model = nano()
    probes = ["gradient_norm", {"kind": "sharpness", "tolerance": 1e-4}]
    here = lnlab.measure(model, tokens, language_loss, probes=probes)
    generator = torch.cuda.get_rng_state()
    there = lnlab.measure(copy.deepcopy(model).cuda(), [t.cuda() for t in tokens], language_loss, probes=probes)
    assert torch.equal(generator, torch.cuda.get_rng_state())
    for name, near in (("gradient_norm", 1e-4), ("sharpness", 1e-3)):
        expected = by_path(here.frame(name), name)
        assert by_path(there.frame(name), name) == {key: pytest.approx(x, rel=near) for key, x in expected.items()}
