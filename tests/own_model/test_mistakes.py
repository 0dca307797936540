"""Each mistake is one message with its remedy."""

import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError

MODEL, BATCHES = nn.Linear(4, 3), [torch.ones(2, 4)]


def mean(model, x):
    return model(x).square().mean()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"build": nn.ReLU()}, "ReLU has no parameters"),
        ({"build": lambda _: 3}, "build(1) returned int"),
        ({"build": 3}, "'model' is int"),
        ({"build": {}}, "there is no model"),
        ({"batches": []}, "there are no batches"),
        ({"loss": lambda m, x: mean(m, x).item()}, "the loss returned float"),
        ({"loss": lambda m, x: m(x)}, "has the shape (2, 3)"),
        ({"loss": lambda m, x: mean(m, x).detach()}, "has no graph"),
        ({"loss": lambda m, x: mean(MODEL, x)}, "depends on no parameter of the model"),
        ({"loss": lambda m, x: mean(m, x) * float("nan")}, "the loss of a batch is nan"),
        ({"loss": lambda m, x: (mean(m, x) - mean(m, x).detach()).sqrt()}, "its gradient is not"),
        ({"loss": lambda m, x: (mean(m, x), 0)}, "a sum over 0 items"),
        ({"seeds": 3}, "a module has one set of weights"),
        ({"seeds": 0}, "leaves no seed"),
        ({"probes": ["hidden_norm"]}, "name the modules where it passes: stream={"),
        ({"probes": ["input_norm"]}, "needs the structure of lnlab's own models, such as its masks and tokens"),
        ({"probes": ["update_size"]}, "needs training"),
        ({"probes": ["gradient_nrom"]}, "did you mean 'gradient_norm'?"),
        ({"probes": ["gradient_norm", "gradient_norm"]}, "stands in probes twice"),
        ({"probes": [{"kind": "gradient_norm", "batches": 2}]}, "asks for 2 batches"),
        ({"probes": [{"kind": "gradient_norm", "split": "test"}]}, "there is no split 'test'"),
        ({"probes": [{"kind": "hessian_spectrum", "operator": "ggn"}]}, "hessian_spectrum"),
    ],
)
def test_a_mistake_is_one_message(call, message):
    arguments = {"build": MODEL, "batches": BATCHES, "loss": mean} | call
    with pytest.raises(LabError) as raised:
        lnlab.measure(**arguments)
    assert message in str(raised.value)
    assert "; " in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("method", ["frame", "plot"])
def test_what_was_not_measured_is_named(method):
    m = lnlab.measure(MODEL, BATCHES, mean)
    with pytest.raises(LabError, match="did you mean 'gradient_norm'"):
        getattr(m, method)("gradient_nrm")


def test_a_claim_needs_an_id_and_a_kind():
    m = lnlab.measure(MODEL, BATCHES, mean)
    with pytest.raises(LabError, match="claim 1: has no 'id'"):
        m.judge([{"kind": "ratio"}])
    with pytest.raises(LabError, match="did you mean 'ratio'"):
        m.judge([{"id": "a", "kind": "ratoi"}])


def test_an_integer_parameter_has_no_gradient():
    model = nn.Linear(4, 3)
    model.codes = nn.Parameter(torch.ones(2, dtype=torch.int8), requires_grad=False)
    with pytest.raises(LabError, match=r"'codes' is torch.int8, which has no gradient"):
        lnlab.measure(model, BATCHES, mean)
