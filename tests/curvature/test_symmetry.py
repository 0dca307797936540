"""An operator whose products are wrong is refused before anything is computed from it, and weight norms are right."""

import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, relu, scaled_dot_product_attention
from torch.nn.utils import parametrizations, weight_norm
from torch.utils.checkpoint import checkpoint

from lnlab.curvature import operators
from lnlab.curvature.dense import dense
from lnlab.curvature.guards import CurvatureError, GraphFacts, check_symmetric
from lnlab.curvature.hessian import hessian
from lnlab.curvature.operators import Difference
from lnlab.curvature.preconditioned import Preconditioned
from lnlab.curvature.sharpness import lanczos_sharpness

X = torch.randn(7, 4, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def total(model, x):
    return model(x).square().sum(), x.shape[0]


def by_differences(model, loss, batch, step=1e-6):
    """The Hessian by central differences of the gradient, column by column, in float64."""
    parameters = list(model.parameters())

    def gradient():
        value, count = loss(model, batch)
        parts = torch.autograd.grad(value / count, parameters, allow_unused=True, materialize_grads=True)
        return torch.cat([part.flatten() for part in parts])

    columns = []
    for p in parameters:
        flat = p.data.view(-1)
        for i in range(p.numel()):
            kept = flat[i].item()
            ends = []
            for sign in (1, -1):
                flat[i] = kept + sign * step
                ends.append(gradient())
            flat[i] = kept
            columns.append((ends[0] - ends[1]) / (2 * step))
    return torch.stack(columns, 1)


def old(module, dim=0):
    with pytest.warns(FutureWarning, match="weight_norm"):
        return weight_norm(module, dim=dim)


@pytest.mark.parametrize(
    "normed",
    [
        lambda: parametrizations.weight_norm(nn.Linear(4, 3)),
        lambda: parametrizations.weight_norm(nn.Linear(4, 3), dim=1),
        lambda: parametrizations.weight_norm(nn.Linear(4, 3), dim=None),
        lambda: nn.Sequential(nn.Unflatten(1, (1, 4)), parametrizations.weight_norm(nn.Conv1d(1, 2, 2)), nn.Flatten()),
        lambda: old(nn.Linear(4, 3)),
        lambda: old(nn.Linear(4, 3), dim=None),
    ],
)
def test_a_weight_norm_has_the_hessian_of_its_formula(normed):
    """Torch's second derivative of the fused weight norm takes the norm for a constant: it is not symmetric."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), normed(), nn.Tanh()).double()
    loss = lambda m, x: total(m[1:], torch.tanh(m[0](x)))  # noqa: E731
    operator = hessian(model, loss, [X])
    found = dense(operator.matvec, operator.size)
    torch.testing.assert_close(found, by_differences(model, loss, X), rtol=1e-5, atol=1e-6)


class Fused(nn.Module):
    """Calls torch's fused function by itself."""

    def __init__(self):
        super().__init__()
        self.v, self.g = nn.Parameter(torch.randn(3, 4).double()), nn.Parameter(torch.rand(3, 1).double())

    def forward(self, x):
        return linear(x, torch._weight_norm(self.v, self.g, 0)).tanh()


def function(name, value, slope, marked=lambda backward: backward):
    """A function of torch's autograd by its value and what comes back, ``slope(g, *inputs)``."""

    def forward(ctx, *inputs):
        ctx.save_for_backward(*inputs)
        return value(*inputs)

    def backward(ctx, g):
        return slope(g, *ctx.saved_tensors)

    methods = {"forward": staticmethod(forward), "backward": staticmethod(marked(backward))}
    return type(name, (torch.autograd.Function,), methods)


Right = function("Right", torch.sin, lambda g, x: g * x.cos())
Cut = function("Cut", torch.sin, lambda g, x: g * x.cos().detach())
"""Its slope is cut off from the graph."""
Once = function("Once", torch.sin, lambda g, x: g * x.cos(), once_differentiable)
"""Torch leaves its second derivative out without a word."""
Unbatched = function("Unbatched", torch.square, lambda g, x: g if g.sum() == torch.inf else 2 * g * x)
"""Its backward branches on a value, which torch cannot batch."""
Product = function("Product", torch.mul, lambda g, x, y: (g * y, g * x))
OneSided = function("OneSided", torch.mul, lambda g, x, y: (g * y.detach(), g * x))
"""Its slope knows of one of the two numbers alone: its Hessian is not symmetric."""


class Applies(nn.Module):
    def __init__(self, function, after=lambda x: x):
        super().__init__()
        torch.manual_seed(1)
        self.l, self.o, self.function, self.after = nn.Linear(4, 5), nn.Linear(5, 2), function, after

    def forward(self, x):
        return self.o(self.after(self.function.apply(self.l(x))))


def test_a_fused_function_with_a_wrong_second_derivative_is_refused_by_name():
    torch.manual_seed(2)
    with pytest.raises(CurvatureError, match=r"expected one number.*WeightNormInterfaceBackward0") as raised:
        hessian(Fused(), total, [X])
    assert "by its formula" in raised.value.remedy


@pytest.mark.parametrize(("dtype", "words"), [(torch.float32, "measure in float64"), (torch.float64, "write that op")])
def test_without_a_suspect_rounding_of_float32_is_named_first(dtype, words):
    """In a diverged Post-LN of float32 the products differed by 56,019 units; in float64 only an error is left."""
    u, v = torch.eye(2, dtype=torch.float64)
    with pytest.raises(CurvatureError, match=r"expected one number, as a Hessian is symmetric$") as raised:
        check_symmetric(u, v, 3 * v, 2 * u, GraphFacts(frozenset(), torch.finfo(dtype).eps))
    assert raised.value.remedy.startswith(words)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("wrong", [Cut, Once])
def test_a_function_that_cannot_be_differentiated_twice_is_refused(wrong, dtype):
    with pytest.raises(CurvatureError, match=f"{wrong.__name__}Backward"):
        hessian(Applies(wrong).to(dtype), total, [X.to(dtype)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("after", [torch.tanh, relu])
def test_a_right_function_passes_also_before_kinks(after, dtype):
    model = Applies(Right, after).to(dtype)
    before = [p.clone() for p in model.parameters()]
    operator = hessian(model, total, [X.to(dtype), 2 * X.to(dtype)])
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))
    if dtype is torch.float64:
        twice = lambda m, xs: (sum(total(m, x)[0] for x in xs), 14)  # noqa: E731
        expected = by_differences(model, twice, [X, 2 * X])
        torch.testing.assert_close(dense(operator.matvec, operator.size), expected, rtol=1e-4, atol=1e-5)


class Gained(nn.Module):
    """A function of few parameters beside many of others: |w|^2 / 2 + f(g)."""

    def __init__(self, size, gains, function, dtype):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.w = nn.Parameter(0.1 * torch.randn(size, 1, generator=generator, dtype=dtype))
        self.g = nn.Parameter(torch.full((gains,), 0.5, dtype=dtype))
        self.function = function

    def forward(self, _):
        return 0.5 * self.w.square().sum() + self.function.apply(3 * self.g).sum()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("size", "gains"), [(300, 1), (1500, 1), (20_000, 1), (20_000, 8)])
def test_a_lost_derivative_of_few_parameters_is_not_hidden_by_many(size, gains, dtype):
    loss = lambda m, x: (m(x), 1)  # noqa: E731
    with pytest.raises(CurvatureError, match=rf"parameter of {gains} entries.*Cut"):
        hessian(Gained(size, gains, Cut, dtype), loss, [None])
    hessian(Gained(size, gains, Right, dtype), loss, [None])


class Along(nn.Module):
    """A function of one number of a tensor: |w|^2 / 2 + f(a w), with a entry 3 or any unit vector."""

    def __init__(self, size, function, dtype, *, dense):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.a = torch.randn(size, generator=generator, dtype=dtype) if dense else torch.eye(size, dtype=dtype)[3]
        self.a /= self.a.norm()
        self.w = nn.Parameter(0.1 * torch.randn(size, generator=generator, dtype=dtype) - self.a)
        self.function = function

    def forward(self, _):
        return 0.5 * self.w.square().sum() + self.function.apply(2 * (self.w @ self.a))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("size", "dense"), [(300, False), (1500, True), (3000, False), (20_000, True)])
def test_a_lost_derivative_of_one_direction_is_not_hidden_in_its_tensor(size, dense, dtype):
    loss = lambda m, x: (m(x), 1)  # noqa: E731
    with pytest.raises(CurvatureError, match=rf"parameter of {size} entries.*Cut"):
        hessian(Along(size, Cut, dtype, dense=dense), loss, [None])
    model = Along(size, Right, dtype, dense=dense)
    operator = hessian(model, loss, [None])
    found = lanczos_sharpness(operator, torch.Generator().manual_seed(1))
    assert found.value == pytest.approx(max(1, 1 - 4 * (2 * (model.w @ model.a)).sin().item()), rel=1e-3)
    operator.check_along(found.vector)


def test_the_product_with_a_vector_that_was_found_is_compared_in_all_coordinates(monkeypatch):
    loss = lambda m, x: (m(x), 1)  # noqa: E731
    with monkeypatch.context() as patched:
        patched.setattr(operators, "check_difference", lambda product, *_: torch.zeros_like(product))
        operator = hessian(Along(300, Cut, torch.float64, dense=False), loss, [None])
    of_entry = torch.eye(300, dtype=torch.float64)[3]
    operator.check_along(torch.eye(300, dtype=torch.float64)[4])
    for one in (operator, Difference(operator, operator)):
        with pytest.raises(CurvatureError, match=r"finite differences .*Cut"):
            one.check_along(of_entry)
    with pytest.raises(CurvatureError, match=r"finite differences .*Cut"):
        Preconditioned(operator, torch.ones(300).index_fill(0, torch.tensor([7]), 0.0)).check_along(of_entry[:-1])


def test_a_loss_under_autocast_is_not_refused_for_its_rounding():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))

    def loss(m, x):
        with torch.autocast("cpu", torch.bfloat16):
            return m(x.float()).float().square().sum(), len(x)

    hessian(model, loss, [X])


class Attends(nn.Module):
    def __init__(self, again):
        super().__init__()
        torch.manual_seed(4)
        self.qkv, self.out, self.again = nn.Linear(4, 12), nn.Linear(4, 2), again

    def attend(self, x):
        q, k, v = self.qkv(x)[None].chunk(3, -1)
        return scaled_dot_product_attention(q, k, v)[0]

    def forward(self, x):
        y = checkpoint(self.attend, x, use_reentrant=False) if self.again else self.attend(x)
        return self.out(y)


@pytest.mark.parametrize("keep", [True, False])
def test_attention_below_a_checkpoint_is_taken_by_its_formula_again(keep):
    again, plain = (hessian(Attends(a).double(), total, [X], keep=keep) for a in (True, False))
    torch.testing.assert_close(dense(again.matvec, again.size), dense(plain.matvec, plain.size))


def test_rows_that_cannot_go_together_go_one_after_another():
    model = Applies(Unbatched).double()
    operator = hessian(model, total, [X])
    torch.testing.assert_close(
        dense(operator.matvec, operator.size), by_differences(model, total, X), rtol=1e-4, atol=1e-5
    )


def test_a_matrix_that_is_not_finite_is_refused_before_it_is_diagonalized():
    class Penalized(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.w = nn.Linear(4, 3).double(), nn.Parameter(torch.zeros(3, 3).double())

    loss = lambda m, x: (m.l(x).square().sum() + torch.linalg.norm(m.w), len(x))  # noqa: E731
    with pytest.raises(CurvatureError, match="not finite"):
        hessian(Penalized(), loss, [X])
    with pytest.raises(CurvatureError, match="not finite"):
        dense(lambda block: block * torch.nan, 3)


class OfTwoSizes(nn.Module):
    def __init__(self):
        super().__init__()
        self.large, self.x, self.y = (nn.Parameter(torch.tensor([value])) for value in (1.0, 0.7, -0.4))


@pytest.mark.parametrize("of_difference", [False, True])
@pytest.mark.parametrize("applied", [OneSided, Product])
def test_an_asymmetry_that_the_hessian_hides_is_seen_in_the_coordinates_of_adam(applied, of_difference):
    loss = lambda m, _: ((1e6 * m.large.square() + applied.apply(m.x, m.y)).sum(), 1)  # noqa: E731
    whole = hessian(OfTwoSizes(), loss, [None])  # its large entry passes both checks of H
    if of_difference:
        whole = Difference(whole, hessian(OfTwoSizes(), lambda m, _: (1e6 * m.large.square().sum() / 2, 1), [None]))
    diagonal = torch.tensor([2e6, 0.4, 0.7])
    if applied is OneSided:
        with pytest.raises(CurvatureError, match=r"expected one number.*OneSidedBackward"):
            Preconditioned(whole, diagonal)
        return
    found = dense(Preconditioned(whole, diagonal).matvec, 3)
    inner = 1 / (0.4 * 0.7) ** 0.5
    expected = [[0.5 if of_difference else 1.0, 0.0, 0.0], [0.0, 0.0, inner], [0.0, inner, 0.0]]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-5, atol=1e-6)
