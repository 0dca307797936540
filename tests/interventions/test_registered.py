"""What every registered intervention owes, formula and numbers apart (tests/catalogue): it acts and leaves no trace."""

import pytest
import torch
from torch.optim import SGD, Adam

from lnlab.interventions.intervention import interventions
from lnlab.nn.sites import Site
from tests.support.traces import changed, snapshot

ENTRIES = list(interventions)
LEAST = {
    "clamp": {"where": {"tensor": "branch"}}, "equalize": {"where": {"tensor": "branch"}}, "equalize_gradient": {},
    "fix_update_size": {"where": {}}, "freeze": {"where": {"stack": "encoder"}}, "mup_rates": {}, "qk_clip": {},
    "rescale": {"where": {"tensor": "branch"}, "factor": 2}, "rescale_gradient": {},
    "rescale_learning_rate": {"where": {}, "factor": 2}, "unit_rows": {},
}  # fmt: skip


@pytest.mark.parametrize("fails", [False, True], ids=["", "by an error"])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_it_acts_inside_and_leaves_no_trace(model, intervene, batch, loss, entry, fails):
    made = model("post").train()
    optimizer = Adam(made.parameters(), 1e-3)
    loss(made(batch), batch).backward()
    before, logits = snapshot(made, optimizer), made(batch)
    try:
        with intervene(entry.name, made, optimizer, **LEAST[entry.name]):
            own = (["hooks"], ["optimizer's hooks"])
            both = (["hooks", "optimizer's hooks"],)  # it sees passes, and acts on steps
            assert sorted(changed(before, snapshot(made, optimizer))) in (both if entry.name == "qk_clip" else own)
            assert torch.equal(made(batch), logits) is (entry.facts.acts_on == "update")
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert fails
    assert changed(before, snapshot(made, optimizer)) == []
    assert torch.equal(made(batch), logits)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_step_inside_leaves_groups_and_gradients_as_they_were(model, intervene, batch, loss, entry):
    made = model("post")
    optimizer = SGD(made.parameters(), 1e-3, momentum=0.9)
    loss(made(batch), batch).backward()
    before = snapshot(made, optimizer)
    with intervene(entry.name, made, optimizer, **LEAST[entry.name]):
        optimizer.step()
    assert changed(before, snapshot(made, optimizer)) == ["weights", "optimizer's state"]


def test_everything_registered_is_tested_here_and_the_site_of_a_choice_is_a_list():
    assert LEAST.keys() == {entry.name for entry in ENTRIES}
    one = interventions.resolve({"kind": "rescale", "factor": 1, "where": {"tensor": "sum", "layer": 1}})
    two = interventions.resolve({"kind": "rescale", "factor": 1.0, "where": {"layer": [1], "tensor": ["sum"]}})
    assert one == two == interventions.resolve(one)
    assert one["where"] == {"stack": None, "layer": [1], "sublayer": None, "tensor": ["sum"]}
    assert interventions.key(one) == interventions.key(two)


def test_sites_of_one_layer_are_first_and_last(model, intervene, batch):
    made = model("post", layers=1)
    from_end = [{"tensor": "sum", "layer": end} for end in ("first", "last", 1)]
    found = []
    for where in from_end:
        with intervene("rescale", made, where=where, factor=-1):
            found.append(made(batch))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    assert Site("encoder", 1, "feed_forward", "sum").layer == 1
