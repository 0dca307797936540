"""What every registered piece owes, whoever registers it: a formula and its source, defaults, precision, no trace."""

import re

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.compile.work import Measurement
from lnlab.errors import LabError
from lnlab.execute.measure import measure
from lnlab.keys import canonical
from lnlab.nn.batch_norm import batch_statistics
from lnlab.registry import Entry
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.tables import frame
from tests.support.pieces import TEXT, built, measurable, setting_with, smallest, speaks, state_for, state_of

FORMULA = re.compile(r"``.+``[^:]*: .+\.")
CITED = re.compile(r".+ \((.+, )?(19|20)\d\d.*\)\.")
OWN = {"corpus parallel_text", "labelled_corpus labelled_table", "text_corpus text"}
"""The user's own, which nobody has published."""
GRAPH = ("model", "norm", "placement", "attention", "linear", "init")


def named(entry: Entry) -> str:
    return f"{entry.kind} {entry.name}"


def every(*kinds: str) -> list[Entry]:
    return [entry for kind in kinds for entry in REGISTRIES[kind]]


def test_the_first_line_of_every_piece_is_formula_sentence_and_citation():
    """A section cites nobody: it draws what others found."""
    pieces = [*every(*REGISTRIES), *(entry for registry in FRAME_REGISTRIES.values() for entry in registry)]
    assert [e.summary for e in pieces if not FORMULA.fullmatch(e.summary)] == []
    citing = [e for e in pieces if e.kind != "section" and named(e) not in OWN]
    assert [e.summary for e in citing if not CITED.fullmatch(e.summary)] == []


@pytest.mark.parametrize("entry", every(*REGISTRIES), ids=named)
def test_the_smallest_choice_is_complete_once_resolved_and_has_a_key(entry, roots):
    registry = REGISTRIES[entry.kind]
    resolved = registry.resolve(smallest(entry))
    assert registry.resolve(resolved) == resolved
    assert list(resolved) == ["kind", *entry.keywords]
    assert canonical(resolved)
    assert re.fullmatch("[0-9a-f]{64}", registry.key(resolved, roots))
    assert callable(built(entry))


@pytest.mark.parametrize("entry", [entry for kind in GRAPH for entry in measurable(kind)], ids=named)
def test_float32_is_finite_and_agrees_with_float64(entry, roots):
    state = state_of(setting_with(entry), roots=roots)
    (batch,), found = state.batches(1), []
    for model in (state.model, state.model.double()):
        parameters = list(model.parameters())
        with batch_statistics(model):
            loss, count = state.task.loss(model, batch)
        gradients = torch.autograd.grad(loss / count, parameters, allow_unused=True, materialize_grads=True)
        found.append(torch.stack([loss.detach().double() / count, *(g.double().norm() for g in gradients)]))
    assert found[0].isfinite().all()
    torch.testing.assert_close(found[0], found[1], rtol=1e-3, atol=1e-5 * found[1].max().item())


def crossed() -> list:
    """Every probe with every model; in each run two models of each probe, in turns."""
    probes, models = every("probe"), every("model")
    return [
        pytest.param(
            probe,
            model,
            id=f"{named(probe)}-{named(model)}",
            marks=() if (p - m) % len(models) < 2 else pytest.mark.nightly,
        )
        for p, probe in enumerate(probes)
        for m, model in enumerate(models)
    ]


@pytest.mark.parametrize(("entry", "model"), crossed())
def test_probes_measure_every_model_and_leave_no_trace(entry, model, roots):
    """Under the guard of a run, which fails where parameters or buffers have changed."""
    able = model.facts.translates
    given = {"task": TEXT} if speaks(entry) and able else {}
    state = state_for(smallest(entry), setting_with(model, init={"kind": "xavier_normal"}, **given), roots)
    if speaks(entry) and not able:
        with pytest.raises(LabError, match="does not translate"):
            list(built(entry)(state))
        return
    if entry.kind == "probe" and entry.facts.causal and not model.facts.causal:
        with pytest.raises(LabError, match="has no causal stack"):
            list(built(entry)(state))
        return
    before = torch.get_rng_state()
    choice = REGISTRIES["probe"].resolve(smallest(entry))
    table, rows = measure(state, Measurement("key", 0, choice), REGISTRIES)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(p.grad is None and p.requires_grad for p in state.model.parameters())
    assert table == "spectra" or all("quantity" in row for row in rows)
    assert {row["quantity"] for row in rows if "quantity" in row} <= set(entry.facts.quantities)
    assert len(frame(table, rows)) == len(rows) > 0
    assert all(row["measurement"] == "key" for row in rows if table != "curves")
    assert all(value == value for row in rows for value in row.values())
