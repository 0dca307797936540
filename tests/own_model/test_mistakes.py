"""Each mistake is one message with its remedy."""

import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError
from lnlab.facts import QuantityWords
from lnlab.probes.probe import once, probes

MODEL, BATCHES = nn.Linear(4, 3), [torch.ones(2, 4)]


def mean(model, x):
    return model(x).square().mean()


class Growing(nn.Linear):
    """Has one more parameter after its first pass."""

    def forward(self, x):
        if not hasattr(self, "late"):
            self.late = nn.Parameter(torch.ones(3))
        return super().forward(x) * self.late


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"build": nn.ReLU()}, "ReLU has no parameters"),
        ({"build": nn.LazyLinear(3)}, "the parameter 'weight' has no size yet"),
        ({"build": Growing(4, 3)}, "adds, drops or replaces parameters in its forward pass"),
        ({"build": lambda _: 3}, "build(1) returned int"),
        ({"build": 3}, "'model' is int"),
        ({"build": {}}, "there is no model"),
        ({"batches": []}, "there are no batches"),
        ({"loss": lambda m, x: mean(m, x).item()}, "the loss returned float"),
        ({"loss": lambda m, x: m(x)}, "has the shape (2, 3)"),
        ({"loss": lambda m, x: None}, "the loss returned NoneType, expected a tensor"),
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


def test_a_device_without_float64_is_one_message(monkeypatch):
    """On a fake: the CPU as a device that has none."""
    monkeypatch.setattr("lnlab.own_model.measuring.WITHOUT_FLOAT64", frozenset({"cpu"}))
    message = "measure: the probe 'gradient_norm' computes in float64, which the device cpu lacks; move the model"
    with pytest.raises(LabError, match=message):
        lnlab.measure(MODEL, BATCHES, mean)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"quantity": "stable_rnk"}, "yields rows of 'stable_rnk', which it does not declare; name it in quantities="),
        ({"quantity": None}, "yields rows of 'None', which it does not declare"),
        ({"quantity": "stable_rank", "colour": 1}, "yields a row that its table has not: table 'sites' has no column"),
        ({"quantity": "stable_rank", "value": "three"}, "yields a row that its table has not: "),
        (KeyError("x"), "the probe 'own_rank' failed: KeyError: 'x'; mend the probe"),
    ],
)
def test_a_row_that_an_own_probe_may_not_yield_is_one_message_wherever_it_runs(row, message, monkeypatch, tmp_path):
    monkeypatch.setattr(probes, "_entries", dict(probes.entries))
    words = QuantityWords("stable rank", "ratio", "of a matrix")

    @probes.register(
        "own_rank", table="sites", passes=once, any_model=lambda _: True, quantities={"stable_rank": words}
    )
    def own_rank(state, *, batches: int = 1):
        if isinstance(row, Exception):
            raise row
        yield {"value": 1.0, **row}

    rec = lnlab.Recorder(tmp_path / "a", seed=1, probes=["own_rank"], batches=BATCHES, loss=mean)
    for call in (lambda: lnlab.measure(MODEL, BATCHES, mean, probes=["own_rank"]), lambda: rec(MODEL, 0)):
        with pytest.raises(LabError) as raised:
            call()
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)
    rec.close()


@pytest.mark.parametrize("method", ["frame", "plot"])
def test_what_was_not_measured_is_named(method):
    m = lnlab.measure(MODEL, BATCHES, mean)
    with pytest.raises(LabError, match="did you mean 'gradient_norm'"):
        getattr(m, method)("gradient_nrm")


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"kind": "ratio"}, "claims.0: 'id' is required"),
        ({"id": "a", "kind": "ratoi"}, "did you mean 'ratio'"),
        ("- {id: a, kind: bound, of: {quantity: gradient_norm}, at_mots: 1}", "did you mean 'at_most'"),
        ("- {id: a, kind: [", "claims:1:"),
        ("just a word", "expected a list, not str"),
        ([{"id": "a", "kind": "bound", "role": "mine", "of": {"quantity": "q"}, "at_most": 1}], "claims.0.role"),
    ],
)
def test_a_claim_is_checked_as_in_a_spec(claims, message):
    m = lnlab.measure(MODEL, BATCHES, mean)
    with pytest.raises(LabError) as raised:
        m.judge(claims)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_profile_is_a_name():
    with pytest.raises(LabError, match="a profile is a name, not list"):
        lnlab.judge("first.yaml", profile=[{"id": "a"}])


def test_an_integer_parameter_has_no_gradient():
    model = nn.Linear(4, 3)
    model.codes = nn.Parameter(torch.ones(2, dtype=torch.int8), requires_grad=False)
    with pytest.raises(LabError, match=r"'codes' is torch.int8, which has no gradient"):
        lnlab.measure(model, BATCHES, mean)


def test_names_of_models_may_have_dots_and_digits():
    builds = {name: lambda _: nn.Linear(4, 3) for name in ("v1.5", "0.5", "2")}
    m = lnlab.measure(builds, BATCHES, mean, seeds=3)
    claim = {"id": "a", "kind": "bound", "of": {"quantity": "gradient_norm", "sublayer": None}, "at_least": 1e-9}
    verdicts = [m.judge({**claim, "of": claim["of"] | {"model": name}})[0] for name in builds]
    assert [(v.verdict, v.n) for v in verdicts] == [("supported", 3)] * 3
    assert m.frame("gradient_norm")["model"].unique(maintain_order=True).to_list() == list(builds)
