"""Operators against closed forms; GGN; scopes; tokens as weights; graphs kept or made anew; threads; memory."""

import gc
import threading

import psutil
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss, softmax

from lnlab.curvature.dense import dense
from lnlab.curvature.ggn import ggn
from lnlab.curvature.hessian import hessian
from lnlab.curvature.preconditioned import Preconditioned, adam_diagonal
from lnlab.probes.support.operators import doubled

GENERATOR = torch.Generator().manual_seed(4)
X = torch.randn(12, 4, generator=GENERATOR, dtype=torch.float64)
Y = torch.randint(0, 3, (12,), generator=GENERATOR)
SHARDS = [slice(0, 7), slice(7, 9), slice(9, 12)]


def matrix(operator):
    return dense(operator.matvec, operator.size)


def linear(outputs: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(4, outputs, bias=False).double()


def squares(model, part):
    return mse_loss(model(X[part])[:, 0], Y[part].double(), reduction="sum") / 2, len(Y[part])


def logistic(model, part):
    return binary_cross_entropy_with_logits(model(X[part])[:, 0], (Y[part] > 0).double(), reduction="sum"), len(Y[part])


def classes(model, part):
    return cross_entropy(model(X[part]), Y[part], reduction="sum"), len(Y[part])


class Deep(nn.Module):
    """Two layers and a curve between them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.norm, self.second = nn.Linear(4, 5), nn.LayerNorm(5), nn.Linear(5, 3)
        self.double()

    def forward(self, x):
        return self.second(torch.tanh(self.norm(self.first(x))))


@pytest.mark.parametrize("operator", [hessian, ggn])
def test_the_closed_form_of_linear_regression(operator):
    """``XᵀX / n``: over all rows alike, whatever shard they are in."""
    torch.testing.assert_close(matrix(operator(linear(1), squares, SHARDS)), X.T @ X / 12, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("operator", [hessian, ggn])
def test_the_closed_form_of_logistic_regression(operator):
    """``Xᵀ diag(p (1 - p)) X / n``."""
    model = linear(1)
    p = torch.sigmoid(model(X)).detach()
    expected = X.T @ (p * (1 - p) * X) / 12
    torch.testing.assert_close(matrix(operator(model, logistic, SHARDS)), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("operator", [hessian, ggn])
def test_the_closed_form_of_softmax_regression(operator):
    """``Σ_i (diag(p_i) - p_i p_iᵀ) ⊗ x_i x_iᵀ / n``."""
    model = linear(3)
    p = softmax(model(X), -1).detach()
    expected = sum(torch.kron(torch.diag(q) - torch.outer(q, q), torch.outer(x, x)) for q, x in zip(p, X, strict=True))
    torch.testing.assert_close(matrix(operator(model, classes, SHARDS)), expected / 12, rtol=1e-10, atol=1e-12)


def test_ggn_is_the_jacobian_around_the_losss_own_hessian():
    model = Deep()
    names = list(dict(model.named_parameters()))

    def outputs(*parameters):
        return torch.func.functional_call(model, dict(zip(names, parameters, strict=True)), (X,)).flatten()

    given = tuple(p.detach() for p in model.parameters())
    J = torch.cat([j.flatten(1) for j in torch.autograd.functional.jacobian(outputs, given)], 1)
    inner = torch.autograd.functional.hessian(lambda z: cross_entropy(z.view(12, 3), Y), outputs(*given))
    found = matrix(ggn(model, classes, SHARDS))
    torch.testing.assert_close(found, J.T @ inner @ J, rtol=1e-8, atol=1e-12)
    assert torch.linalg.eigvalsh(found).min() > -1e-12
    assert (matrix(hessian(model, classes, SHARDS)) - found).abs().max() > 1e-3


def test_ggn_of_a_transformer_has_the_same_rows_for_one_and_for_several(tiny):
    state = tiny("encoder", "pre")
    operator = ggn(state.model, state.task.loss, state.batches(2), keep=True)
    block = torch.randn(3, operator.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    together = operator.matvec(block)
    for one, row in zip(together, block, strict=True):
        torch.testing.assert_close(operator.matvec(row), one, rtol=1e-9, atol=1e-12)
    assert (together * block).sum(1).min() > 0


def test_ggn_refuses_losses_that_it_does_not_fit(golden):
    model = Deep()
    beside = lambda m, part: (classes(m, part)[0] + model.first.weight.square().sum(), 1)  # noqa: E731
    with golden.raises(ValueError):
        ggn(model, beside, [SHARDS[0]], list(model.first.parameters()))
    twice = lambda m, part: (m(X).sum() + m(X).square().sum(), 1)  # noqa: E731
    with pytest.raises(ValueError, match="found 2 calls"):
        ggn(model, twice, [SHARDS[0]])


def test_a_scope_is_a_principal_block():
    model = Deep()
    whole = matrix(hessian(model, classes, SHARDS))
    sizes = [p.numel() for p in model.parameters()]
    places = torch.arange(sum(sizes)).split(sizes)
    for scope in ([0], [2, 3], [5, 0, 4]):
        parameters = [list(model.parameters())[i] for i in scope]
        block = torch.cat([places[i] for i in scope])
        found = matrix(hessian(model, classes, SHARDS, parameters))
        torch.testing.assert_close(found, whole[block][:, block], rtol=1e-9, atol=1e-12)


def test_it_is_the_mean_over_what_is_counted_and_not_over_shards():
    model = Deep()
    whole = matrix(hessian(model, classes, [slice(0, 12)]))
    torch.testing.assert_close(matrix(hessian(model, classes, SHARDS)), whole, rtol=1e-9, atol=1e-12)
    means = sum(matrix(hessian(model, classes, [part])) for part in SHARDS) / 3
    assert (means - whole).abs().max() > 1e-3


@pytest.mark.parametrize("operator", [hessian, ggn])
def test_graphs_kept_threads_and_rows_together_change_no_bit(operator, tiny):
    """Threads take their cores for themselves alone, and leave the caller's as they were."""
    before = threading.active_count()
    state = tiny("encoder", "post", norm="instance")
    made = [
        operator(state.model, state.task.loss, state.batches(5), keep=keep, threads=threads, together=together)
        for keep, threads, together in ((True, 1, 1), (False, 1, 1), (True, 3, 1), (False, 2, 1))
    ]
    v = torch.randn(4, made[0].size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    cores = torch.get_num_threads()
    first, *others = (each.matvec(v) for each in made)
    assert all(torch.equal(first, other) for other in others)
    assert torch.get_num_threads() == cores
    together = operator(state.model, state.task.loss, state.batches(5), together=3)
    torch.testing.assert_close(together.matvec(v), first, rtol=1e-9, atol=1e-12)
    assert threading.active_count() == before


def test_a_kept_graph_remembers_the_parameters_it_was_made_at():
    model = Deep()
    kept, anew = (hessian(model, classes, SHARDS, keep=keep) for keep in (True, False))
    v = torch.ones(kept.size, dtype=torch.float64)
    before = anew.matvec(v)
    model.first.weight.data = model.first.weight.data * 2
    assert torch.equal(kept.matvec(v), before)
    assert not torch.allclose(anew.matvec(v), before)


def test_parameters_that_do_not_matter_or_enter_linearly_have_rows_of_zeros():
    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.idle, self.linear = (nn.Parameter(torch.ones(n).double()) for n in (2, 3, 1))

        def forward(self, x):
            return (self.used * x).square().sum() + self.linear.sum()

    found = matrix(hessian(Idle(), lambda m, x: (m(x), 1), [torch.tensor([1.0, 3.0]).double()]))
    torch.testing.assert_close(found, torch.diag(torch.tensor([2.0, 18, 0, 0, 0, 0]).double()))
    flat = hessian(Idle(), lambda m, x: (m.linear.sum() + m.idle.sum(), 1), [None])
    assert not matrix(flat).any()


def test_float32_is_float64_to_its_rounding_and_a_copy_is_in_float64(tiny):
    state = tiny("encoder", "post")
    state.model.float()
    twin, scope = doubled(state.model, list(state.model.parameters())[:3])
    loss, batches = state.task.loss, state.batches(2)
    rough = hessian(state.model, loss, batches, list(state.model.parameters())[:3])
    exact = hessian(twin, loss, batches, scope)
    v = torch.randn(rough.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert rough.matvec(v).dtype == exact.matvec(v).dtype == torch.float64
    difference = (rough.matvec(v) - exact.matvec(v)).abs().max() / exact.matvec(v).abs().max()
    assert 1e-9 < difference < 1e-4
    assert next(state.model.parameters()).dtype == torch.float32


def test_adams_coordinates_scale_both_sides_and_leave_out_what_has_no_step():
    model = Deep()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-3)
    for part in SHARDS:
        optimizer.zero_grad()
        classes(model, part)[0].backward()
        model.first.weight.grad[:, 2] = 0.0
        optimizer.step()
    scope = list(model.parameters())
    operator = hessian(model, classes, SHARDS)
    found = Preconditioned(operator, adam_diagonal(optimizer, scope))
    assert (found.size, found.excluded) == (operator.size - 5, 5)
    v = torch.cat([optimizer.state[p]["exp_avg_sq"].flatten() for p in scope]) / (1 - 0.999**3)
    kept = v > 0
    factor = (v[kept].sqrt() + 1e-3) ** -0.5
    expected = factor[:, None] * matrix(operator)[kept][:, kept] * factor
    torch.testing.assert_close(matrix(found), expected, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(found.matvec(expected[0]), expected @ expected[0], rtol=1e-9, atol=1e-10)


def test_a_diagonal_must_fit():
    operator = hessian(linear(1), squares, SHARDS)
    for wrong in (torch.ones(3), -torch.ones(4), torch.zeros(4), torch.full((4,), torch.nan)):
        with pytest.raises(ValueError, match="found P"):
            Preconditioned(operator, wrong)
    with pytest.raises(ValueError, match="no second moment"):
        adam_diagonal(torch.optim.SGD([operator.parameters[0]], lr=1.0), operator.parameters)


@pytest.mark.parametrize("keep", [True, False])
def test_memory_does_not_grow_over_two_hundred_products(keep, tiny):
    state = tiny("encoder", "post", layers=1)
    operator = hessian(state.model, state.task.loss, state.batches(1), keep=keep)
    v = torch.ones(operator.size, dtype=torch.float64)

    def after(products: int) -> tuple[int, int]:
        for _ in range(products):
            operator.matvec(v)
        gc.collect()
        tensors = sum(issubclass(type(x), torch.Tensor) for x in gc.get_objects())
        return psutil.Process().memory_info().rss, tensors

    before, now = after(30), after(200)
    assert now[0] < 1.01 * before[0]
    assert now[1] == before[1]
