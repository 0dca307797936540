"""What is refused, what is forced, and corners where a second derivative may go wrong."""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from lnlab.curvature.dense import dense
from lnlab.curvature.hessian import hessian
from lnlab.curvature.operators import flatten, unflatten
from lnlab.curvature.threads import map_in_order

X = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def total(model, x):
    return model(x).square().sum(), x.shape[0]


class Attention(nn.Module):
    """One head, whose kernel may be insisted on."""

    def __init__(self, kernel=None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.q, self.v, self.kernel = nn.Linear(4, 4).double(), nn.Linear(4, 4).double(), kernel

    def forward(self, x):
        if self.kernel is None:
            return scaled_dot_product_attention(self.q(x), x, self.v(x))
        with sdpa_kernel(self.kernel):
            return scaled_dot_product_attention(*(t[:, None] for t in (self.q(x), x, self.v(x))))


def differences(model, loss, batch, v, step):
    """``H v`` by the central difference of gradients."""
    parameters, found = list(model.parameters()), []
    for sign in (1, -1):
        for p, d in zip(parameters, unflatten(v[None], parameters), strict=True):
            p.data.add_(d[0], alpha=sign * step)
        value, count = loss(model, batch)
        found.append(flatten([g[None] for g in torch.autograd.grad(value / count, parameters)])[0])
        for p, d in zip(parameters, unflatten(v[None], parameters), strict=True):
            p.data.add_(d[0], alpha=-sign * step)
    return (found[0] - found[1]) / (2 * step)


def agree(model, loss=total, batch=X):
    """With central differences at two sizes of the step."""
    operator = hessian(model, loss, [batch])
    v = torch.randn(operator.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = operator.matvec(v)
    for step in (1e-5, 1e-6):
        torch.testing.assert_close(found, differences(model, loss, batch, v, step), rtol=1e-5, atol=1e-6)
    return operator


def test_attention_is_taken_by_its_formula():
    agree(Attention())


def test_a_fused_kernel_is_found_in_the_graph():
    with pytest.raises(ValueError, match="found ScaledDotProduct"):
        hessian(Attention(SDPBackend.FLASH_ATTENTION), total, [X])


def test_torchs_own_transformer_layer():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.3, activation="gelu", batch_first=True).double()
    operator = hessian(layer, total, [X])
    assert layer.training
    layer.eval()
    v = torch.ones(operator.size, dtype=torch.float64)
    torch.testing.assert_close(operator.matvec(v), differences(layer, total, X, v, 1e-6), rtol=1e-5, atol=1e-5)


@pytest.mark.nightly
def test_a_compiled_model_is_differentiated_in_eager_mode():
    model = Attention()
    compiled = torch.compile(model, backend="aot_eager")
    compiled(X).sum().backward()
    v = torch.ones(40, dtype=torch.float64)
    assert torch.equal(hessian(compiled, total, [X]).matvec(v), hessian(model, total, [X]).matvec(v))


def test_a_random_loss_is_refused_and_dropout_is_off():
    noisy = lambda model, x: (model(x + 1e-3 * torch.randn(())).sum(), 1)  # noqa: E731
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.Linear(3, 1)).double().train()
    with pytest.raises(ValueError, match="is random"):
        hessian(model, noisy, [X])
    agree(model.eval())
    operator = hessian(model.train(), total, [X])
    v = torch.ones(operator.size, dtype=torch.float64)
    assert torch.equal(operator.matvec(v), operator.matvec(v))
    assert all(module.training for module in model.modules())


def test_running_statistics_are_left_alone():
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).double().train()
    before = {name: b.clone() for name, b in model.named_buffers()}
    hessian(model, lambda m, x: total(m, x.flatten(0, 1)), [X]).matvec(torch.ones(21))
    assert all(torch.equal(before[name], b) for name, b in model.named_buffers())


def test_losses_without_a_graph_or_a_value_are_refused():
    model = nn.Linear(4, 1).double()
    with pytest.raises(ValueError, match="without a graph"):
        hessian(model, lambda m, x: (m(x).detach().sum(), 1), [X])
    with pytest.raises(ValueError, match="expected a finite"):
        hessian(model, lambda m, x: (m(x).sum() * torch.inf, 1), [X])
    with pytest.raises(ValueError, match="count of 0"):
        hessian(model, lambda m, x: (m(x).sum(), 0), [X])
    with pytest.raises(ValueError, match="found 0 shards"):
        hessian(model, total, [])
    with pytest.raises(ValueError, match="vectors of 3 coordinates"):
        hessian(model, total, [X]).matvec(torch.ones(3))


def test_scopes_that_are_none_are_refused():
    model = nn.Linear(4, 1).double()
    other, frozen = nn.Linear(4, 1), nn.Linear(4, 1).double().requires_grad_(False)
    for scope, match in (
        ([], "found no parameter"),
        ([model.weight] * 2, "twice"),
        ([other.weight], "not the model's"),
    ):
        with pytest.raises(ValueError, match=match):
            hessian(model, total, [X], scope)
    with pytest.raises(ValueError, match="frozen"):
        hessian(frozen, total, [X], list(frozen.parameters()))
    mixed = nn.Sequential(nn.Linear(4, 4).double(), other)
    with pytest.raises(ValueError, match="several types"):
        hessian(mixed, total, [X])


def test_relu_at_zero_has_no_slope_and_no_curvature():
    """Units that are exactly 0, as after a zero init, add nothing; the others are as differences say."""
    model = nn.Sequential(nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 2)).double()
    with torch.no_grad():
        model[0].weight[1] = 0.0
    found = dense(hessian(model, total, [X]).matvec, 20)
    assert found.isfinite().all()
    assert not found[4:8].any()
    torch.testing.assert_close(found, found.T)
    with torch.no_grad():
        model[0].weight[1] = 1.0
    agree(model)


def test_layer_norm_at_zero_is_linear_with_the_slope_of_its_epsilon():
    """At x = 0 the norm is x - mean(x) over sqrt(eps), so that no second derivative is left but that of the square."""
    model = nn.Sequential(nn.Linear(4, 3, bias=False), nn.LayerNorm(3, eps=1e-2, elementwise_affine=False)).double()
    with torch.no_grad():
        model[0].weight.zero_()
    x = X[0, :1]
    centring = (torch.eye(3, dtype=torch.float64) - 1 / 3) / 0.1
    expected = 2 * torch.kron(centring @ centring, torch.outer(x[0], x[0]))
    torch.testing.assert_close(dense(hessian(model, total, [x]).matvec, 12), expected, rtol=1e-9, atol=1e-9)


def test_a_tied_table_is_one_block_and_as_differences_say():
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.embedding, self.output = nn.Embedding(6, 4).double(), nn.Linear(4, 6, bias=False).double()
            self.output.weight = self.embedding.weight

        def forward(self, tokens):
            return self.output(torch.tanh(self.embedding(tokens)))

    def loss(model, tokens):
        return nn.functional.cross_entropy(model(tokens), tokens.flip(0), reduction="sum"), len(tokens)

    assert agree(Tied(), loss, torch.tensor([0, 2, 2, 5])).size == 24


def test_threads_keep_the_order_and_give_their_errors():
    assert list(map_in_order(lambda x: x * x, range(20), 3)) == [x * x for x in range(20)]

    def breaks(x):
        if x == 4:
            raise ValueError("four")
        return x

    with pytest.raises(ValueError, match="four"):
        list(map_in_order(breaks, range(20), 3))
    assert set(map_in_order(lambda _: torch.get_num_threads(), range(4), 2)) == {1}
