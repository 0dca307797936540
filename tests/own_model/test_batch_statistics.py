"""Norms over batches, whoever wrote them, take the batch's statistics unless their running ones are asked for."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import lnlab
from lnlab.curvature.dense import dense
from lnlab.curvature.hessian import hessian
from lnlab.nn.batch_norm import BatchNorm, batch_statistics
from lnlab.probes.probe import evaluating
from tests.support.golden import holding

X, Y = torch.randn(16, 5, generator=torch.Generator().manual_seed(2)), torch.arange(16) % 3


class OfMyOwn(nn.Module):
    """A batch norm that derives from nothing of torch's."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, x):
        mean, variance = self.running_mean, self.running_var
        if self.training:
            mean, variance = x.mean(0), x.var(0, correction=0)
            self.running_mean.lerp_(mean.detach(), 0.1)
            self.running_var.lerp_(variance.detach(), 0.1)
        return (x - mean) / (variance + 1e-5).sqrt() * self.weight


class WithActivation(nn.BatchNorm1d):
    """A norm of torch's with a forward pass of its own, as in timm."""

    def forward(self, x):
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
        y = nn.functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, self.training, 0.1, self.eps
        )
        return y.relu()


class Instances(nn.Module):
    """An instance norm with running statistics, over six positions of one channel."""

    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(1, affine=True, track_running_stats=True)

    def forward(self, x):
        return self.norm(x[:, None])[:, 0]


def lazy():
    norm = nn.LazyBatchNorm1d()
    norm(torch.zeros(2, 6))
    return norm.train()


class Frozen(nn.Module):
    """A norm that never takes a batch's statistics, as in torchvision."""

    def __init__(self, width):
        super().__init__()
        self.register_buffer("running_mean", torch.full((width,), 0.5))
        self.register_buffer("running_var", torch.full((width,), 2.0))

    def forward(self, x):
        return (x - self.running_mean) / self.running_var.sqrt()


NORMS = {
    "torch": lambda: nn.BatchNorm1d(6),
    "without momentum": lambda: nn.BatchNorm1d(6, momentum=None),
    "synchronized": lambda: nn.SyncBatchNorm(6),
    "lazy": lazy,
    "instances": Instances,
    "derived": lambda: WithActivation(6),
    "own": lambda: OfMyOwn(6),
    "frozen": lambda: Frozen(6),
}


def loss(model, batch):
    return cross_entropy(model(batch[0]), batch[1])


def made(name):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 6), NORMS[name](), nn.Tanh(), nn.Linear(6, 3))


def by_hand(model, *, training):
    """Gradient norms of the matrices; SyncBatchNorm trains on GPUs alone, and its formula is BatchNorm1d's."""
    model = copy.deepcopy(model)
    if isinstance(model[1], nn.SyncBatchNorm):
        model[1] = nn.BatchNorm1d(6)
    model.train(training)
    gradients = torch.autograd.grad(loss(model, (X, Y)), [model[0].weight, model[3].weight])
    return [g.norm().item() for g in gradients]


def norms_of(model, **options):
    m = lnlab.measure(model, [(X, Y)], loss, **options)
    return m.frame("gradient_norm")["value"].to_list()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NORMS)
def test_every_norm_takes_the_statistics_of_the_batch_and_remembers_nothing(name, training):
    model = made(name).train(training)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    assert norms_of(model) == pytest.approx(by_hand(model, training=True), rel=1e-5)
    assert norms_of(model, statistics="running") == pytest.approx(by_hand(model, training=False), rel=1e-5)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(module.training is training for module in model.modules())


@pytest.mark.parametrize("name", sorted(NORMS.keys() - {"synchronized"}))
def test_so_does_the_hessian(name):
    model = made(name).double()
    x = X.double()
    trained = copy.deepcopy(model).train()
    names, values = zip(*((n, p.detach()) for n, p in trained.named_parameters()), strict=True)

    def of_flat(flat):
        parts = [part.view_as(v) for part, v in zip(flat.split([v.numel() for v in values]), values, strict=True)]
        buffers = {n: b.clone() for n, b in trained.named_buffers()}
        logits = torch.func.functional_call(trained, dict(zip(names, parts, strict=True)) | buffers, (x,))
        return cross_entropy(logits, Y)

    expected = torch.autograd.functional.hessian(of_flat, torch.cat([v.flatten() for v in values]))
    with evaluating(model):
        operator = hessian(model, lambda m, b: (loss(m, b), 1), [(x, Y)])
        found = dense(operator.matvec, operator.size)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)


def test_torchs_norm_is_measured_as_lnlabs_own():
    torch.manual_seed(1)
    first, last = nn.Linear(5, 6), nn.Linear(6, 3)

    class Sentences(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = BatchNorm(6)

        def forward(self, x):
            return self.norm(x[None])[0]

    models = [nn.Sequential(first, norm, last) for norm in (nn.BatchNorm1d(6), Sentences())]
    found = [norms_of(copy.deepcopy(model)) for model in models]
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_the_choice_stands_in_the_frame_and_on_the_page(tmp_path, golden):
    m = lnlab.measure(made("torch"), [(X, Y)], loss)
    assert m.frame("gradient_norm")["statistics"].unique().to_list() == ["batch"]
    m.report(out=tmp_path / "page")
    golden(holding((tmp_path / "page" / "index.html").read_text(), "Norms over batches"))
    running = lnlab.measure(made("torch"), [(X, Y)], loss, statistics="running")
    assert running.frame("gradient_norm")["statistics"].unique().to_list() == ["running"]
    without = lnlab.measure(nn.Linear(5, 3), [(X, Y)], loss)
    assert "statistics" not in without.frame("gradient_norm").columns


def test_a_batch_of_one_item_has_no_statistics_and_the_message_says_what_helps():
    with pytest.raises(lnlab.LabError, match=r"'1' \(BatchNorm1d\).*several items, or statistics='running'"):
        lnlab.measure(made("torch"), [(X[:1], Y[:1])], loss)


def test_what_was_changed_for_a_while_is_put_back_after_an_error():
    model = nn.Sequential(nn.BatchNorm1d(5), OfMyOwn(5))
    with pytest.raises(RuntimeError), batch_statistics(model):
        model(X[:, :4])
    assert model[0].running_mean is not None
    assert model[0].track_running_stats
    assert torch.equal(model[1].running_mean, torch.zeros(5))
    assert not hasattr(model[1], "observed")
