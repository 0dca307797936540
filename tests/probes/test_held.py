"""What a probe of curvature says that it holds, against the bytes that autograd saves for it, counted."""

import weakref
from dataclasses import replace
from itertools import pairwise, product
from threading import RLock as Lock

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from lnlab.catalogue import REGISTRIES
from lnlab.compile.cost.cost import BYTES_PER_NUMBER, Workload, batch_tokens, cost
from lnlab.compile.cost.memory import LIBRARIES, SHARE, plan_memory
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Measurement, Trajectory
from lnlab.curvature import ggn, hessian
from lnlab.curvature.lanczos import lanczos
from lnlab.curvature.operators import Sharded
from lnlab.curvature.starts import start
from lnlab.execute.measure import measure
from lnlab.execute.program import build
from lnlab.nn.norms import norms
from lnlab.nn.placements import placements
from lnlab.probes.probe import evaluating
from lnlab.probes.support.peak_memory import coordinates, graph_elements, peak_bytes
from lnlab.probes.support.scopes import parameters_of

LINEARIZE = {"hessian": hessian.linearized_hessian, "ggn": ggn.linearized_ggn}
SCOPES = ("all", "embeddings", "without_embeddings", "attention", "attention_qk", "attention_vo", "feed_forward")
PROBES = {
    "hessian_spectrum": {"draws": 2, "steps": 5, "batches": 2},
    "sharpness": {"batches": 2, "steps": 6, "tolerance": 1e-9},
}


class Saved:
    """Bytes of distinct storages that graphs hold beside the model's own: now, and at most so far."""

    def __init__(self, model):
        self.own = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
        self.holders: dict[int, int] = {}
        self.now = self.peak = 0

    def watching(self, linearize):
        """The same linearization, made where tensors that are saved are counted."""

        def watched(*given):
            with saved_tensors_hooks(self._pack, lambda holder: holder.tensor):
                return linearize(*given)

        return watched

    def _pack(self, tensor):
        holder = Holder(tensor.detach())  # with its own node it would hold itself
        where, size = tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()
        if where not in self.own:
            if not self.holders.get(where):
                self.now += size
                self.peak = max(self.peak, self.now)
            self.holders[where] = self.holders.get(where, 0) + 1
            weakref.finalize(holder, self._let_go, where, size)
        return holder

    def _let_go(self, where, size):
        self.holders[where] -= 1
        if not self.holders[where]:
            self.now -= size


class Live(TorchDispatchMode):
    """Bytes of all storages that are alive, of what was computed inside: at most so far."""

    def __init__(self):
        super().__init__()
        self.known, self.lock, self.now, self.peak = set(), Lock(), 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        tree_map_only(torch.Tensor, lambda t: self._see(t.untyped_storage()), made)
        return made

    def _see(self, storage):
        name, size = storage._cdata, storage.nbytes()
        with self.lock:
            if name not in self.known:
                self.known.add(name)
                self.now += size
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._let_go, name, size)

    def _let_go(self, name, size):
        with self.lock:
            self.known.discard(name)
            self.now -= size

    def watching(self, linearize):
        """The same linearization, which with its products is made in this mode, in whatever thread."""

        def watched(*given):
            with self:
                made = linearize(*given)

            def products(rows):
                with self:
                    return made.products(rows)

            return replace(made, products=products)

        return watched


class Holder:
    def __init__(self, tensor):
        self.tensor = tensor


def setting_of(kind="encoder_decoder", *, placement="post", norm="layer", length=12, train=None, **model):
    task = {"kind": "random_tokens", "vocabulary": 60, "sentences": 5, "length": length, "law": "uniform"}
    task |= {"classes": 3} if kind == "classifier" else {}
    chosen = {"kind": "group", "groups": 2} if norm == "group" else norm
    shape = {"kind": kind, "layers": 2, "d_model": 24, "heads": 4, "d_ff": 48} | model
    given = {"task": task, "model": shape, "placement": placement, "norm": chosen}
    return resolve_setting(given | ({"train": train} if train else {}), REGISTRIES)


def load_of(setting):
    number = BYTES_PER_NUMBER[setting["train"]["precision"]]
    return Workload(setting, cost(setting, (), REGISTRIES).parameters, batch_tokens(setting, REGISTRIES), number)


def state_of(setting):
    return build(Trajectory("x", 1, setting, 0, ()), REGISTRIES)


def counted(setting, operator="hessian", *, keep=True, batches=2):
    """What is saved after an operator was made, and at most."""
    state = state_of(setting)
    saved = Saved(state.model)
    with evaluating(state.model):
        linearize, loss = saved.watching(LINEARIZE[operator]), saved.watching(state.task.loss)
        made = Sharded(linearize, state.model, loss, state.batches(batches), None, keep=keep)
        after = saved.now
        made.matvec(torch.ones(made.size, dtype=torch.float64))
    return after, saved.peak


def one(setting):
    """Bytes of one graph, as reckoned."""
    load = load_of(setting)
    return load.number * load.tokens * graph_elements(load)


@pytest.mark.parametrize("operator", ["hessian", "ggn"])
@pytest.mark.parametrize("kind", ["encoder_decoder", "encoder", "language_model", "classifier"])
def test_kept_graphs_are_of_every_batch_and_of_a_second_look_for_a_while(kind, operator):
    setting = setting_of(kind)
    after, peak = counted(setting, operator)
    assert 1.0 < 2 * one(setting) / after < 1.25
    assert 0 < peak - after < after / 4  # of a forward pass, which is less than half of one of two graphs


@pytest.mark.parametrize("kind", ["encoder_decoder", "classifier"])
def test_without_one_graph_is_there_at_a_time(kind):
    setting = setting_of(kind)
    after, peak = counted(setting, keep=False)
    assert after == 0
    assert 1.0 < one(setting) / peak < 1.25


@pytest.mark.parametrize(
    "given",
    [
        *({"placement": entry.name} for entry in placements),
        *({"norm": entry.name} for entry in norms),
        *({"kind": "encoder", "norm": name} for name in ("none", "batch")),
        *({"d_model": width, "d_ff": inner} for width, inner in ((8, 96), (64, 16))),
        *({"length": length, "heads": heads} for length, heads in ((4, 2), (40, 8))),
        *({"layers": 1, "tied": tied} for tied in ("none", "all")),
        {"train": {"precision": "float64"}},
    ],
    ids=str,
)
def test_whatever_the_model_it_is_within_half_as_much(given):
    setting = setting_of(**given)
    after, _ = counted(setting, batches=1)
    assert 1 / 1.5 < one(setting) / after < 1.5


SIZES = ({"layers": 1}, {"layers": 1, "d_model": 48, "d_ff": 32})
WHOLE = list(product(("encoder_decoder", "classifier"), (True, False), ("hessian", "ggn"), SIZES))


def in_every_run(kind, keep, operator, size):
    """A quarter of the cases, with each pair of kind, operator and graphs; the others are by night."""
    return ((kind == "classifier") + keep + (operator == "ggn")) % 2 == SIZES.index(size) == 0


@pytest.mark.parametrize(
    ("kind", "keep", "operator", "size"),
    [pytest.param(*case, marks=() if in_every_run(*case) else pytest.mark.nightly) for case in WHOLE],
    ids=str,
)
def test_the_whole_peak_is_within_half_as_much(kind, keep, operator, size):
    """Graphs, gradients on their way, vectors of Lanczos: all tensors that live at once."""
    setting, live = setting_of(kind, **size), Live()
    state = state_of(setting)
    with evaluating(state.model), live:
        linearize = live.watching(LINEARIZE[operator])
        made = Sharded(linearize, state.model, state.task.loss, state.batches(3), None, keep=keep)
        lanczos(made.matvec, start(made.size, torch.Generator())[None], 4)
    reckoned = peak_bytes(load_of(setting), 1, "all", batches=3, keep=keep, double=False, steps=4)
    assert 1 / 1.5 < reckoned / live.peak < 1.5


@pytest.mark.parametrize("kind", ["encoder_decoder", "language_model", "classifier"])
@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_has_so_many_coordinates(kind, scope):
    setting = setting_of(kind)
    exact = sum(p.numel() for p in parameters_of(state_of(setting).model, scope))
    assert coordinates(load_of(setting), scope) == pytest.approx(exact, rel=0.05)


MORE = {
    "batches": (1, 2, 8), "steps": (2, 20, 90), "draws": (1, 3, 10), "extra_vectors": (0, 5), "operators": (1, 2),
    "basis": (False, True), "keep": (False, True), "double": (False, True),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_more_of_anything_takes_more(name):
    plain = {"operators": 1, "batches": 4, "keep": True, "double": False, "steps": 30}
    load = load_of(setting_of())
    sizes = [peak_bytes(load, scope="all", **plain | {name: value}) for value in MORE[name]]
    assert all(a < b for a, b in pairwise(sizes))


LARGER = {"d_model": (8, 24, 64), "d_ff": (8, 48), "layers": (1, 2, 6), "heads": (2, 4, 8), "length": (4, 12, 40)}


@pytest.mark.parametrize("name", LARGER)
def test_a_larger_model_takes_more(name):
    plain = {"operators": 1, "batches": 4, "keep": True, "double": False, "steps": 30}
    sizes = [peak_bytes(load_of(setting_of(**{name: value})), scope="all", **plain) for value in LARGER[name]]
    assert all(a < b for a, b in pairwise(sizes))


def test_a_basis_is_held_for_as_many_draws_as_advance_together():
    load = replace(load_of(setting_of()), parameters=2**22)
    one_draw, two, many = (
        peak_bytes(load, 1, "all", batches=1, keep=False, double=False, steps=30, draws=draws) for draws in (1, 2, 50)
    )
    assert two - one_draw == 8 * 2**22 * (30 + 10)
    assert many == two  # 2 GiB hold the 30 vectors of two draws, and no more


def test_the_bases_of_a_budget_are_held_and_no_more():
    probe = REGISTRIES["probe"]
    load = replace(load_of(setting_of()), parameters=2**20)

    def bytes_of(load=load, **budget):
        choice = probe.resolve({"kind": "hessian_spectrum", "keep": False, "batches": 1, **budget})
        return probe["hessian_spectrum"].facts.memory(choice, load)

    assert bytes_of(relative_error=0.1) == bytes_of(products=120)  # 40 steps of each run, whatever the most products
    assert bytes_of(products=120) - bytes_of(products=60) == 8 * 2**20 * 40
    large = replace(load, parameters=2**22)
    assert bytes_of(large, products=3_000) == bytes_of(large, products=600)  # 2 GiB hold the 64 vectors of both


@pytest.mark.parametrize("kind", PROBES)
def test_a_small_bound_makes_graphs_anew_to_the_same_bits(kind):
    """And a large one keeps them: a model is then called twice a batch, to make its graph and to prove its loss.

    Without them each product calls it once a batch, and so does the check that the operator is symmetric.
    """
    setting = setting_of(layers=1)
    probe = REGISTRIES["probe"].resolve({"kind": kind, **PROBES[kind]})
    unit = Trajectory("x", 1, setting, 0, (Measurement("key", 0, probe),))
    (kept, frugal) = (cost(setting, [Measurement("", 0, probe | {"keep": k})], REGISTRIES) for k in (True, False))
    between = (kept.peak_bytes + frugal.peak_bytes) // 2
    found = {}
    for keep, bound in ((True, 2 * kept.peak_bytes), (False, between)):
        memory = int((bound + LIBRARIES) / SHARE) + 1
        here = plan_memory([unit], REGISTRIES, 1, memory)
        assert abs(here.bound - bound) < 4
        ((measurement,),) = (each.measurements for each in here.units)
        assert (measurement.key, measurement.probe) == ("key", probe | {"keep": keep})
        assert (here.could, here.frugal, here.peak) == (1, int(not keep), (kept if keep else frugal).peak_bytes)
        state, calls = state_of(setting), []
        state.model.register_forward_pre_hook(lambda *_, calls=calls: calls.append(1))
        found[keep] = measure(state, measurement, REGISTRIES), len(calls)
    assert found[True][0] == found[False][0]
    products = 5 if kind == "hessian_spectrum" else 6
    assert (found[True][1], found[False][1]) == (4, 4 + 2 * (1 + products))
