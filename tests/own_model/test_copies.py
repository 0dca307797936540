"""What can be copied is measured right, and what cannot is told; nothing is left on the model."""

import os
import threading
import types
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import linear
from torch.nn.utils import parametrizations, prune, spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint

import lnlab
from lnlab.errors import LabError

X = torch.randn(6, 5, generator=torch.Generator().manual_seed(3))
FILE = Path(os.devnull).open("w")  # noqa: SIM115 - closed after the last test
PROBES = ["gradient_norm", {"kind": "sharpness", "tolerance": 1e-4}]


@pytest.fixture(autouse=True, scope="module")
def closed():
    """The file is closed after the last test."""
    yield
    FILE.close()


def mean(model, x):
    return model(x).square().mean()


def measured(model, loss=mean, probes=("gradient_norm",), **options):
    return lnlab.measure(model, [X], loss, probes=list(probes), **options)


def norms(m):
    rows = m.frame("gradient_norm")
    return dict(zip(rows["path"], rows["value"], strict=True))


def by_backward(model, loss=mean):
    """Gradient norms of matrices by ``backward`` on the model itself."""
    model.eval()
    model.zero_grad()
    loss(model, X).backward()
    found = {name: p.grad.norm().item() for name, p in model.named_parameters() if p.dim() > 1}
    model.zero_grad()
    return found


class Wrapped(nn.Module):
    """A matrix, and something else as an attribute."""

    def __init__(self, **attributes):
        super().__init__()
        self.l = nn.Linear(5, 3)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        self.last = self.l(x)
        return self.last.tanh()


def old_weight_norm(**options):
    with pytest.warns(FutureWarning, match="weight_norm"):
        return nn.Sequential(weight_norm(nn.Linear(5, 3), **options), nn.Tanh())


def cached():
    model = Wrapped()
    model(X)
    model.all = [{"deep": (model.last,)}]
    return model


def pruned():
    model = nn.Sequential(nn.Linear(5, 3), nn.Tanh())
    prune.l1_unstructured(model[0], "weight", 0.5)
    return model


@pytest.mark.parametrize(
    "build",
    [
        old_weight_norm,
        lambda: old_weight_norm(dim=None),
        cached,
        pruned,
        lambda: Wrapped(lock=threading.Lock()),
        lambda: Wrapped(deep={"list": [types.SimpleNamespace(lock=threading.RLock())]}),
        lambda: Wrapped(file=FILE),
        lambda: Wrapped(numbers=(n for n in range(3))),
        lambda: nn.DataParallel(nn.Sequential(nn.Linear(5, 3), nn.Tanh())).module,
        lambda: nn.Sequential(parametrizations.spectral_norm(nn.Linear(5, 3)), nn.Tanh()),
        lambda: nn.Sequential(spectral_norm(nn.Linear(5, 3)), nn.Tanh()),
        lambda: nn.Sequential(parametrizations.orthogonal(nn.Linear(5, 3)), nn.Tanh()),
    ],
)
def test_models_that_deepcopy_refuses_have_the_gradients_of_backward(build):
    torch.manual_seed(0)
    model = build()
    expected = by_backward(model)
    assert norms(measured(model, probes=PROBES)) == pytest.approx(expected, rel=1e-5)
    in_type = lambda m, x: mean(m, x.to(next(m.parameters()).dtype))  # noqa: E731
    single, double = (
        measured(model, in_type, [{**PROBES[1], "precision": precision}]).frame("sharpness")["value"][0]
        for precision in ("float32", "float64")
    )
    assert single == pytest.approx(double, rel=1e-2)  # a saturated tanh has lost digits in float32


def test_sparse_tables_have_the_gradients_of_dense_ones():
    class Bags(nn.Module):
        def __init__(self, sparse):
            super().__init__()
            torch.manual_seed(1)
            self.one, self.bag = nn.Embedding(11, 4, sparse=sparse), nn.EmbeddingBag(11, 4, sparse=sparse)

        def forward(self, x):
            words = x.abs().mul(10).long().clamp(max=10)
            return self.one(words).sum(1) * self.bag(words)

    sparse, dense = (norms(measured(Bags(sparse))) for sparse in (True, False))
    assert sparse == pytest.approx(dense)
    assert Bags(True).one.sparse


def test_a_functional_sparse_gradient_is_dense_too():
    class Functional(nn.Module):
        def __init__(self, sparse):
            super().__init__()
            torch.manual_seed(1)
            self.table, self.sparse = nn.Parameter(torch.randn(11, 4)), sparse

        def forward(self, x):
            words = x.abs().mul(10).long().clamp(max=10)
            return nn.functional.embedding(words, self.table, sparse=self.sparse)

    probes = ["gradient_norm", "gradient_histogram"]
    sparse, dense = (measured(Functional(sparse), probes=probes) for sparse in (True, False))
    assert norms(sparse) == pytest.approx(norms(dense))
    assert sparse.frame("gradient_histogram").equals(dense.frame("gradient_histogram"))


@pytest.mark.parametrize("wrap", ["DataParallel", "root", "nested"])
def test_wrappers_leave_no_word_in_names(wrap):
    torch.manual_seed(2)
    plain = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    model = plain
    if wrap == "DataParallel":
        model = nn.DataParallel(plain)
    elif wrap == "root":
        model = torch.compile(plain, backend="eager")
    expected = by_backward(plain)
    if wrap == "nested":
        model = nn.Sequential(torch.compile(plain[0], backend="eager"), plain[1], plain[2])
    m = measured(model, probes=PROBES, sites={"0": "feed_forward.w1"})
    assert norms(m) == pytest.approx(expected, rel=1e-5)
    assert "w1" in m.frame("gradient_norm")["tensor"].to_list()


def test_hooks_that_watch_are_not_called_by_probes_and_not_lost():
    torch.manual_seed(0)
    model = Wrapped()
    calls = []

    class Logger:
        def __init__(self):
            self.file = FILE

        def hook(self, *_):
            calls.append(self.file.write("x"))

    model.l.register_forward_hook(Logger().hook)
    model.l.register_full_backward_hook(lambda *_: calls.append("backward"))
    model.l.register_full_backward_hook(lambda _m, gradients, _: tuple(g if g is None else 3 * g for g in gradients))
    plain = Wrapped()
    plain.load_state_dict(model.state_dict())
    assert norms(measured(model, probes=PROBES)) == pytest.approx(by_backward(plain), rel=1e-5)
    assert calls.count(1) <= 1
    assert "backward" not in calls
    assert (len(model.l._forward_hooks), len(model.l._backward_hooks)) == (1, 2)


def keep(module, _inputs, output):
    module.kept = output


class ReadsAHook(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(5, 3)
        self.l.register_forward_hook(keep)

    def forward(self, x):
        self.l(x)
        return self.l.kept.tanh()


def test_hooks_that_are_part_of_the_model_stay_in_it():
    torch.manual_seed(0)
    times_three = Wrapped()
    times_three.l.register_forward_hook(lambda *args: args[-1] * 3)
    for model in (times_three, ReadsAHook()):
        expected = by_backward(model)
        assert norms(measured(model)) == pytest.approx(expected, rel=1e-5)


class Transposed(nn.Module):
    """Two layers with one weight, transposed once and for all."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(5, 3)
        self.back = self.l.weight.t()

    def forward(self, x):
        return linear(self.l(x), self.back)


def patched():
    model = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3))
    last = model[1]
    last.forward = lambda x: linear(x, last.weight, last.bias)
    return model


class Reentrant(nn.Module):
    """The parameters below such a checkpoint are in no graph."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.b(checkpoint(self.a, x.clone().requires_grad_(), use_reentrant=True))


class Sharded(nn.Linear):
    def __deepcopy__(self, memo):
        raise AssertionError("FSDP does not support deepcopy")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (Transposed, "depends on a tensor that the model has computed before and keeps; compute it in the forward"),
        (patched, "depends on the parameters of the model itself, and not of the copy"),
        (Reentrant, "the gradient of 'a.weight' is not in the graph of the loss: CheckpointFunction"),
        (
            lambda: Sharded(5, 3),
            "copying the model failed in Sharded: AssertionError: FSDP .*; measure the model before it is",
        ),
    ],
)
def test_a_gradient_that_would_be_wrong_is_refused(build, message):
    with pytest.raises(LabError, match=message):
        measured(build())


def test_a_patched_method_is_the_copys_own():
    torch.manual_seed(0)
    model = Wrapped()
    model.forward = types.MethodType(lambda self, x: self.l(x).sigmoid(), model)
    assert norms(measured(model)) == pytest.approx(by_backward(model), rel=1e-5)
