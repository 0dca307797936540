"""Every probe on a GPU: on one that is not there, whose devices must not be mixed, and on a real one beside the CPU."""

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.compile.work import Measurement
from lnlab.execute.devices import _PlacedTask
from lnlab.execute.measure import measure
from tests.catalogue.fake_gpu import GPU, FakeGpu
from tests.support.pieces import TEXT, setting_with, smallest, speaks, state_for

PROBES = list(REGISTRIES["probe"])
IN_EVERY_RUN = ("evaluation", "gradient_norm", "hidden_norm", "update_effect")
"""They read batches, gradients, activations and optimizers; the others are made of the same."""
NOISE = 1e-10
"""Below it, a quantity is 0 but for rounding: 1e-4 of it is the square of the resolution of float32, 1e-7."""


@pytest.mark.parametrize(
    "entry", [pytest.param(e, id=e.name, marks=() if e.name in IN_EVERY_RUN else pytest.mark.nightly) for e in PROBES]
)
def test_no_probe_mixes_devices(entry, roots):
    task = {"task": TEXT} if speaks(entry) else {}
    state = state_for(smallest(entry), setting_with(REGISTRIES["model"]["encoder_decoder"], **task), roots)
    choice = REGISTRIES["probe"].resolve(smallest(entry))
    with FakeGpu() as gpu:
        if speaks(entry):
            for side in state.task._sides(choice["split"]):  # read before
                gpu.keep(*vars(side).values())
        state.task = _PlacedTask(state.task, GPU)
        assert measure(state, Measurement("key", 0, choice), REGISTRIES)[1]


def test_the_fake_refuses_what_a_gpu_refuses():
    there = torch.ones(2)
    with FakeGpu():
        here, number = torch.ones(2), torch.tensor(1.0)
        assert (there + number).sum() == 4
        assert (there.cpu() + here).sum() == (there + here.to(GPU)).sum() == 4
        for mix in (lambda: there + here, lambda: torch.stack([there[0], number]), lambda: there.cpu() + there):
            with pytest.raises(RuntimeError, match="same device"):
                mix()


@pytest.mark.cuda
@pytest.mark.parametrize("entry", PROBES, ids=lambda entry: entry.name)
def test_a_gpu_measures_what_the_cpu_does(entry, roots):
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU: torch sees no cuda device")
    choice = REGISTRIES["probe"].resolve(smallest(entry))
    given = {"init": {"kind": "xavier_normal"}} | ({"task": TEXT} if speaks(entry) else {})
    model = REGISTRIES["model"]["encoder_decoder"]
    settings = [setting_with(model, **given, train={"device": device}) for device in ("cpu", "cuda")]
    states = [state_for(smallest(entry), setting, roots) for setting in settings]
    assert {p.device.type for p in states[1].model.parameters()} == {"cuda"}
    here, there = (measure(state, Measurement("key", 0, choice), REGISTRIES)[1] for state in states)
    if "value" not in here[0]:  # texts, and histograms and spectra, of which rounding moves entries
        assert there
        return
    sizes = dict.fromkeys((row["quantity"] for row in here), NOISE)
    for row in here:
        sizes[row["quantity"]] = max(sizes[row["quantity"]], abs(row["value"]))
    for row, other in zip(here, there, strict=True):
        assert other == row | {"value": pytest.approx(row["value"], rel=1e-3, abs=1e-4 * sizes[row["quantity"]])}
