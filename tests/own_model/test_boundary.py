"""Whatever a model, a loss, batches or arguments do, one line says what was being done, where, and what helps."""

import random

import numpy
import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import ctc_loss, dropout
from torch.utils.checkpoint import checkpoint

import lnlab
from lnlab.errors import LabError
from lnlab.outside.own_model.boundary import guarded

X = [torch.randn(6, 5, generator=torch.Generator().manual_seed(4)) for _ in range(2)]
WORDS = torch.randint(11, (2, 3, 4), generator=torch.Generator().manual_seed(4))


def mean(model, x):
    return model(x).square().mean()


class Model(nn.Module):
    """A matrix, what is done with it, and other things."""

    def __init__(self, forward, **things):
        super().__init__()
        self.inner, self.does, self.passes = nn.Linear(5, 3), forward, 0
        for name, thing in things.items():
            setattr(self, name, thing)

    def forward(self, x):
        return self.does(self, x)


class Inner(nn.Module):
    def forward(self, x):
        raise KeyError("mask")


class Silent(Exception):
    def __str__(self):
        raise RuntimeError


def throw(error):
    raise error


def counted(model, x):
    model.passes += 1
    return model.inner(x) * model.passes


def pair(model, x):
    y = model(x)
    return y.mean(), y


def backward_inside(model, x):
    loss = mean(model, x)
    loss.backward()
    return loss


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].exp()


class Output(dict):
    """As a ModelOutput of transformers."""

    def __init__(self, loss):
        super().__init__(loss=loss)
        self.loss = loss


HESSIAN = ["hessian_spectrum"]
LOSSES = {
    "logits": (pair, "second of the pair is a tensor of shape (6, 3), expected a count; return the loss alone"),
    "graph as count": (lambda m, x: (mean(m, x), mean(m, x)), "a tensor with a graph, expected a count"),
    "word as count": (lambda m, x: (mean(m, x), "6"), None),
    "words as count": (lambda m, x: (mean(m, x), "six"), "second of the pair is str, expected a count"),
    "count first": (lambda m, x: (6, mean(m, x)), "write the sum first, then the count"),
    "three": (lambda m, x: (mean(m, x), 1, 2), "returned tuple of 3"),
    "list": (lambda m, x: [mean(m, x), 6], None),
    "dict": (lambda m, x: {"loss": mean(m, x)}, "returned dict, expected a tensor or (sum, count); return its loss"),
    "output": (lambda m, x: Output(mean(m, x)), "return its loss: output.loss, or output['loss']"),
    "float": (lambda m, x: mean(m, x).item(), "returned float, expected a tensor or (sum, count); return the loss its"),
    "numpy": (lambda m, x: m(x).detach().numpy().mean(), "without .item()"),
    "complex": (lambda m, x: mean(m, x) * 1j, "the loss is torch.complex64"),
    "integer": (lambda m, x: m(x).argmax(), "the loss is torch.int64"),
    "raises": (lambda m, x: 1 / 0, "the forward pass failed: ZeroDivisionError: division by zero; call loss(model, ba"),
    "backward inside": (backward_inside, "call no backward() in the loss"),
    "wrong argument": (lambda m: m, "the forward pass failed: TypeError"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    loss, message = LOSSES[name]
    check(message, nn.Linear(5, 3), X, loss)


MODELS = {
    "raises": (lambda: nn.Sequential(nn.Linear(5, 3), nn.Sequential(Inner())), "failed in '1.0' (Inner): KeyError"),
    "stops": (lambda: Model(lambda s, x: next(iter(()))), "failed in Model: StopIteration: no message"),
    "silent error": (lambda: Model(lambda s, x: throw(Silent())), "Silent: no message"),
    "colours": (lambda: Model(lambda s, x: throw(ValueError("\x1b[31mred\nmore"))), r"ValueError: \x1b[31mred; "),
    "endless": (lambda: Model(lambda s, x: s(x)), "RecursionError"),
    "shapes": (lambda: nn.Linear(4, 3), "mat1 and mat2 shapes cannot be multiplied (6x5 and 4x3); call loss(model"),
    "types": (lambda: nn.Linear(5, 3).double(), "give batches of the model's type"),
    "memory": (lambda: Model(lambda s, x: s.inner(x) + torch.zeros(10**13)), "make the batches smaller"),
    "in place": (lambda: Model(lambda s, x: s.inner(x).exp_().mul_(2)), "write x = x + y for x += y in the model"),
    "no graph": (lambda: Model(lambda s, x: s.inner(x).detach()), "the loss has no graph"),
    "dropout": (lambda: Model(lambda s, x: dropout(s.inner(x), 0.5)), "dropout(x, p, self.training)"),
    "numpy noise": (lambda: Model(lambda s, x: s.inner(x) * numpy.random.rand()), "two passes of one batch in"),
    "python noise": (lambda: Model(lambda s, x: s.inner(x) * random.random()), "two passes of one batch in"),
    "seldom": (lambda: Model(lambda s, x: s.inner(x) * (1 + (torch.rand(()) < 0.4))), "two passes of one batch in"),
    "counting": (lambda: Model(counted), "let the model keep nothing from pass to pass"),
    "reentrant": (
        lambda: Model(lambda s, x: checkpoint(s.inner, s.before(x), use_reentrant=True), before=nn.Linear(5, 5)),
        "checkpoint with use_reentrant=False",
    ),
    "meta": (lambda: nn.Linear(5, 3, device="meta"), "has no values: it is on the device meta; build the model"),
    "complex": (
        lambda: Model(lambda s, x: s.inner(x), c=nn.Parameter(torch.ones(3, dtype=torch.complex64))),
        "'c' is torch.complex64, and probes read real numbers; store torch.view_as_real",
    ),
    "integer": (
        lambda: Model(lambda s, x: s.inner(x), c=nn.Parameter(torch.ones(3).int(), requires_grad=False)),
        "'c' is torch.int32, which has no gradient; make it a buffer",
    ),
    "eighths": (
        lambda: Model(
            lambda s, x: s.inner(x), c=nn.Parameter(torch.ones(3).to(torch.float8_e4m3fn), requires_grad=False)
        ),
        "convert it to a dense tensor of float32",
    ),
    "sparse": (
        lambda: Model(lambda s, x: torch.sparse.mm(s.c, s.inner(x).T), c=nn.Parameter(torch.eye(3).to_sparse())),
        "convert it to a dense tensor",
    ),
    "lazy": (lambda: nn.Sequential(nn.Linear(5, 3), nn.LazyBatchNorm1d()), "has no size yet"),
    "patched": (lambda: throw(ZeroDivisionError("no weights")), None),
    "vectors": (lambda: Model(lambda s, x: x * s.g, inner=None, g=nn.Parameter(torch.ones(5))), "'biases': True"),
}


@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"patched"}))
def test_models(name):
    build, message = MODELS[name]
    check(message, build(), X, mean)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("compiled", [torch.jit.script, lambda m: torch.jit.trace(m, X[0])])
def test_torchscript(compiled):
    model = compiled(nn.Sequential(nn.Linear(5, 3), nn.Tanh()))
    check("compiled by TorchScript, which hides its parameters' places; measure the nn.Module", model, X, mean)


def ctc(model, x):
    lengths = torch.tensor([6]), torch.tensor([2])
    return ctc_loss(model(x).log_softmax(-1)[:, None], torch.tensor([[1, 2]]), *lengths)


SECOND = {
    "ctc": (nn.Linear(5, 3), X, ctc, "derivative for aten::_ctc_loss_backward is not implemented"),
    "bags": (nn.Sequential(nn.EmbeddingBag(11, 4), nn.Linear(4, 3)), list(WORDS), mean, "_embedding_bag"),
    "distances": (Model(lambda s, x: torch.cdist(s.inner(x), x[:, :3])), X, mean, "_cdist_backward"),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_that_torch_lacks(name):
    model, batches, loss, message = SECOND[name]
    lnlab.measure(model, batches, loss)
    text = check(message, model, batches, loss, probes=HESSIAN)
    assert "the second derivative for the probe 'hessian_spectrum' failed" in text
    assert "torch cannot differentiate that twice" in text


def test_second_derivatives_that_are_wrong_or_infinite():
    check("OnceBackward", Model(lambda s, x: Once.apply(s.inner(x))), X, mean, probes=HESSIAN)
    flat = Model(lambda s, x: s.inner(x) + torch.linalg.norm(s.w), w=nn.Parameter(torch.zeros(3, 3)))
    for probe in ("hessian_spectrum", "sharpness"):
        check("look for a norm, a root or a division at 0", flat, X, mean, probes=[probe])


ARGUMENTS = {
    "batches that fail": ({"batches": (1 / 0 for _ in range(3))}, "reading the batches failed: ZeroDivisionError"),
    "one batch": ({"batches": {"x": X[0]}}, "batches is dict, expected several batches; write [batch]"),
    "a number of batches": ({"batches": 5}, "batches is int"),
    "loss by name": ({"loss": "mse"}, "loss is str, expected a function"),
    "build fails": ({"build": lambda seed: 1 / 0}, "build(1) failed: ZeroDivisionError"),
    "build without seed": ({"build": lambda: nn.Linear(5, 3)}, "build(1) failed: TypeError"),
    "a class": ({"build": nn.Linear}, "build(1) failed: TypeError"),
    "numbered models": ({"build": {1: nn.Linear(5, 3)}}, "the model 1 has no name; write {'1': ...}"),
    "probes as text": ({"probes": "sharpness"}, "probes is str, expected a list"),
    "no probes": ({"probes": None}, "probes is NoneType, expected a list"),
    "seeds as text": ({"seeds": "3"}, "seeds is '3', expected a number"),
    "half a seed": ({"seeds": 2.5}, "seeds is 2.5, expected a number"),
    "named seeds": ({"seeds": ["a"]}, "seeds is ['a'], expected a number"),
    "sites as list": ({"sites": ["a"]}, "sites= is no table of patterns and addresses"),
    "numbered sites": ({"sites": {"weight": 3}}, "sites= is no table"),
    "numbered stream": ({"stream": {3: "x"}}, "stream= is no table"),
    "mask as text": ({"mask": "pad"}, "mask is str, expected a function"),
    "statistics": ({"statistics": "both"}, "statistics is 'both'; write 'batch' or 'running'"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    given, message = ARGUMENTS[name]
    call = {"build": nn.Linear(5, 3), "batches": X, "loss": mean} | given
    check(message, call.pop("build"), call.pop("batches"), call.pop("loss"), **call)


def test_a_mask_that_fails():
    options = {"stream": {"0": "decoder.feed_forward.out"}, "probes": ["hidden_norm"], "mask": lambda _: 1 / 0}
    check(
        "the mask of a batch failed: ZeroDivisionError", nn.Sequential(nn.Linear(5, 3)), [X[0][None]], mean, **options
    )


def test_what_a_user_stops_is_not_taken_for_an_error():
    with pytest.raises(KeyboardInterrupt):
        lnlab.measure(Model(lambda s, x: throw(KeyboardInterrupt())), X, mean)
    with pytest.raises(SystemExit), guarded("the forward pass"):
        raise SystemExit


def test_the_error_itself_is_the_cause():
    with pytest.raises(LabError) as raised:
        lnlab.measure(nn.Sequential(nn.Linear(5, 3), Inner()), X, mean)
    assert isinstance(raised.value.__cause__, KeyError)


def test_dropout_of_training_a_draw_that_changes_nothing_and_what_needs_no_pass_are_no_noise():
    for model in (nn.Sequential(nn.Linear(5, 3), nn.Dropout()), Model(lambda s, x: (torch.rand(3), s.inner(x))[1])):
        assert lnlab.measure(model.train(), X, mean).frame("gradient_norm").height == 1
    model = Model(lambda s, x: dropout(s.inner(x), 0.5))
    assert lnlab.measure(model, X, mean, probes=["parameter_size"]).frame("parameter_norm").height == 2


def check(message, model, batches, loss, **options):
    """A call gives one line with the message; with None it gives numbers."""
    if message is None:
        return str(lnlab.measure(model, batches, loss, **options).frame("gradient_norm")["value"].to_list())
    with pytest.raises(LabError) as raised:
        lnlab.measure(model, batches, loss, **options)
    text = str(raised.value)
    assert message in text
    assert "; " in text
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 600
    return text
