"""The lab's own pieces, tiny: what workers measure is what a direct call measures."""

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.work import Measurement, Trajectory
from lnlab.execute.program import build
from lnlab.execute.registry_loader import RegistryLoader
from lnlab.execute.scheduler import sweep
from lnlab.keys import digest
from lnlab.store.records.records import read_trajectory

STACK = {"layers": 1, "norm": "layer", "placement": "post", "attention": "softmax"}


@pytest.fixture
def setting():
    corpus = {"kind": "toy_german_english", "train": 300, "validation": 20, "test": 20}
    task = {"kind": "translation", "corpus": corpus, "vocabulary": 120, "batch_tokens": 64}
    given = {"task": task, "model": {"kind": "encoder_decoder", "d_model": 8, "heads": 2, "d_ff": 16}}
    whole = {key: REGISTRIES[key].resolve(value) for key, value in given.items()}
    stack = {key: REGISTRIES[key].resolve(STACK[key]) for key in ("norm", "placement", "attention")} | {"layers": 1}
    more = {"encoder": stack, "decoder": stack | {"cross_attention": True}, "train": {"steps": 0}}
    more |= {"optimizer": None, "interventions": []}
    return whole | more | {"init": REGISTRIES["init"].resolve("xavier_normal")}


@pytest.fixture
def units(setting):
    def unit(seed):
        key = digest([seed, setting])
        probes = [
            REGISTRIES["probe"].resolve({"kind": kind, "batches": 2}) for kind in ("gradient_norm", "hidden_norm")
        ]
        return Trajectory(key, seed, setting, 0, tuple(Measurement(digest([key, p]), 0, p) for p in probes))

    return [unit(1), unit(2)]


def test_workers_measure_what_a_direct_call_measures(store, units):
    assert sweep(units, store.open_unit, RegistryLoader(), workers=2).ended == {"finished": 2}
    for unit in units:
        (stretch,) = read_trajectory(store.root, unit.key).stretches
        rows = stretch.tables()["sites"]
        state = build(unit, REGISTRIES)
        for measurement in unit.measurements:
            direct = [row["value"] for row in REGISTRIES["probe"].builder(measurement.probe)(state)]
            assert rows.filter(measurement=measurement.key)["value"].to_list() == pytest.approx(direct, rel=1e-5)
            assert len(direct) > 10


WAITING = REGISTRIES["placement"].resolve({"kind": "admin", "start": "profiled"})
LOOKING = {
    "dt_fixup": {"init": REGISTRIES["init"].resolve({"kind": "dt_fixup", "of": "fairseq"})},
    "admin": {"init": REGISTRIES["init"].resolve({"kind": "admin", "dropout": True}), "placement": WAITING},
}


@pytest.mark.parametrize("given", LOOKING.values(), ids=LOOKING)
def test_workers_start_where_a_direct_call_starts_though_the_init_looks_at_data(store, setting, given):
    """To the last bit, whatever the worker did before."""
    for stack in ("encoder", "decoder"):
        setting[stack] = setting[stack] | {word: choice for word, choice in given.items() if word == "placement"}
    setting |= {"init": given["init"]}
    probe = REGISTRIES["probe"].resolve("parameter_size")
    keys = [digest([seed, setting]) for seed in (1, 2)]
    due = [(Measurement(digest([key, probe]), 0, probe),) for key in keys]
    units = [Trajectory(key, seed, setting, 0, each) for key, seed, each in zip(keys, (1, 2), due, strict=True)]
    assert sweep(units, store.open_unit, RegistryLoader(), workers=1).ended == {"finished": 2}
    for unit in units:
        rows = read_trajectory(store.root, unit.key).stretches[0].tables()["sites"]
        direct = [row["value"] for row in REGISTRIES["probe"].builder(probe)(build(unit, REGISTRIES))]
        assert rows["value"].to_list() == direct


def test_a_users_own_file_is_loaded_in_the_workers(store, units, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from lnlab.probes.probe import probes\n"
        "@probes.register('answer_of_mine', table='sites', passes=lambda params: 0.0)\n"
        "def answer(state):\n"
        "    '''``42``: the answer.'''\n"
        "    yield {'quantity': 'answer', 'value': 42.0}\n"
    )
    unit = units[0]
    due = Measurement(digest("mine"), 0, {"kind": "answer_of_mine"})
    mine_due = Trajectory(unit.key, unit.seed, unit.setting, 0, (due,))
    assert sweep([mine_due], store.open_unit, RegistryLoader((mine,)), workers=1).ended == {"finished": 1}
    rows = read_trajectory(store.root, unit.key).stretches[0].tables()["sites"]
    assert rows["value"].to_list() == [42.0]
    assert "answer_of_mine" not in REGISTRIES["probe"].entries
