"""Each mistake is one message with its remedy."""

import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError
from lnlab.facts import QuantityWords
from lnlab.probes.probe import once, probes
from tests.support.refusals import one_line

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
    "call",
    [
        {"build": nn.ReLU()},
        {"build": Growing(4, 3)},
        {"build": lambda _: 3},
        {"build": 3},
        {"build": {}},
        {"batches": []},
        {"loss": lambda m, x: m(x)},
        {"loss": lambda m, x: None},
        {"loss": lambda m, x: mean(MODEL, x)},
        {"loss": lambda m, x: mean(m, x) * float("nan")},
        {"loss": lambda m, x: (mean(m, x) - mean(m, x).detach()).sqrt()},
        {"loss": lambda m, x: (mean(m, x), 0)},
        {"seeds": 3},
        {"seeds": 0},
        {"probes": ["hidden_norm"]},
        {"probes": ["input_norm"]},
        {"probes": ["update_size"]},
        {"probes": ["gradient_nrom"]},
        {"probes": ["gradient_norm", "gradient_norm"]},
        {"probes": [{"kind": "gradient_norm", "batches": 2}]},
        {"probes": [{"kind": "gradient_norm", "split": "test"}]},
        {"probes": [{"kind": "hessian_spectrum", "operator": "ggn"}]},
    ],
)
def test_a_mistake_is_one_message(call, golden):
    arguments = {"build": MODEL, "batches": BATCHES, "loss": mean} | call
    told = one_line(lnlab.measure, **arguments)
    golden(told)
    assert "; " in told


def test_a_device_without_float64_is_one_message(monkeypatch):
    """On a fake: the CPU as a device that has none."""
    monkeypatch.setattr("lnlab.outside.own_model.measuring.WITHOUT_FLOAT64", frozenset({"cpu"}))
    message = "measure: the probe 'gradient_norm' computes in float64, which the device cpu lacks; move the model"
    with pytest.raises(LabError, match=message):
        lnlab.measure(MODEL, BATCHES, mean)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"quantity": "stable_rnk"}, "yields rows of 'stable_rnk', which it does not declare; name it in quantities="),
        ({"quantity": None}, "yields rows of 'None', which it does not declare"),
        (
            {"quantity": "stable_rank", "colour": 1},
            "yields a row that does not fit its table: table 'sites' has no column",
        ),
        ({"quantity": "stable_rank", "value": None}, "does not fit its table: it has no value"),
        ({"quantity": "stable_rank", "value": "three"}, "yields a row that does not fit its table: "),
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
        assert message in one_line(call)
    rec.close()


@pytest.mark.parametrize(
    "claims",
    [
        {"kind": "ratio"},
        {"id": "a", "kind": "ratoi"},
        "- {id: a, kind: bound, of: {quantity: gradient_norm}, at_mots: 1}",
        "- {id: a, kind: [",
        "just a word",
        [{"id": "a", "kind": "bound", "role": "mine", "of": {"quantity": "q"}, "at_most": 1}],
    ],
)
def test_a_claim_is_checked_as_in_a_spec(claims, golden):
    m = lnlab.measure(MODEL, BATCHES, mean)
    golden(one_line(m.judge, claims))


def test_a_profile_is_a_name(golden):
    with golden.raises(LabError):
        lnlab.judge("first.yaml", profile=[{"id": "a"}])


def test_names_of_models_may_have_dots_and_digits():
    builds = {name: lambda _: nn.Linear(4, 3) for name in ("v1.5", "0.5", "2")}
    m = lnlab.measure(builds, BATCHES, mean, seeds=3)
    claim = {"id": "a", "kind": "bound", "of": {"quantity": "gradient_norm", "sublayer": None}, "at_least": 1e-9}
    verdicts = [m.judge({**claim, "of": claim["of"] | {"model": name}})[0] for name in builds]
    assert [(v.verdict, v.n) for v in verdicts] == [("supported", 3)] * 3
    assert m.frame("gradient_norm")["model"].unique(maintain_order=True).to_list() == list(builds)
