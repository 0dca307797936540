"""Devices and number formats: what runs without a GPU by autocast and by fakes, the rest where one is."""

import json

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lnlab.catalogue import REGISTRIES
from lnlab.cli import main
from lnlab.compile.checks.contradictions import contradictions
from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Measurement, Trajectory
from lnlab.curvature.lanczos import lanczos
from lnlab.curvature.operators import rows_together
from lnlab.errors import LabError
from lnlab.execute.checkpoint import from_bytes, to_bytes
from lnlab.execute.devices import _PlacedTask, device_of, placed, require_devices
from lnlab.execute.measure import measure
from lnlab.execute.program import FUSED, build, fuse
from lnlab.execute.updates import Updates, read_scalars

TASK = {"kind": "random_tokens", "vocabulary": 40, "sentences": 3, "length": 5}
SPLITS = {"train": 8, "validation": 20, "test": 20}
TEXTS = [
    {
        "task": {
            "kind": "translation",
            "corpus": {"kind": "toy_german_english", **SPLITS},
            "vocabulary": 60,
            "batch_tokens": 2000,
        }
    },
    {
        "task": {
            "kind": "language_modeling", "corpus": {"kind": "toy_english", **SPLITS}, "vocabulary": 60, "length": 8,
            "windows": 3,
        },
        "model": {"kind": "language_model", "layers": 1, "d_model": 16, "heads": 2, "d_ff": 24},
    },
]  # fmt: skip
"""Tasks with text, which count the tokens that are no padding. All sentences are one batch, so that none is longer."""
MODEL = {"kind": "encoder_decoder", "layers": 2, "d_model": 16, "heads": 2, "d_ff": 24, "dropout": 0.1}


def setting(**changes):
    train = {"steps": 3, **changes.pop("train", {})}
    base = {"task": TASK, "model": MODEL, "placement": "pre", "optimizer": {"kind": "adam", "lr": 0.01}, "train": train}
    return resolve_setting(base | changes, REGISTRIES)


def state(**changes):
    return build(Trajectory("tests", 1, setting(**changes), 3, ()), REGISTRIES)


def after(updates, made):
    for _ in range(updates):
        made.apply_update()
    return {name: p.detach().cpu().clone() for name, p in made.state.model.named_parameters()}


def same(one, two):
    return all(torch.equal(p, two[name]) for name, p in one.items())


def test_keys_are_those_from_before_there_was_a_choice():
    keys = ContentKeys(REGISTRIES, ()).of(setting())
    assert setting()["train"] == setting(train={"device": "cpu", "precision": "float32"})["train"]
    assert (keys.start[:16], keys.movement[:16]) == KEYS
    others = [{"device": "cuda"}, {"device": "mps"}, {"precision": "bfloat16"}, {"precision": "float64"}]
    starts = {ContentKeys(REGISTRIES, ()).of(setting(train=change)).start for change in others}
    assert len(starts | {keys.start}) == 5


KEYS = ("c84a46a559e009da", "45a4a361339a9d78")
"""Of the initial state and of what moves it, as they were when ``device`` could only be the CPU."""


def test_in_bfloat16_the_forward_pass_of_an_update_is_autocast_and_nothing_else():
    made = state(train={"precision": "bfloat16"})
    updates = Updates(made, setting(train={"precision": "bfloat16"}))
    (batch,) = updates.batches()
    model = made.model.train()
    torch.default_generator.manual_seed(made.draw("dropout", 1, 0))
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(batch)
    assert logits.dtype == torch.bfloat16
    targets = batch.target_out.flatten()
    loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), targets, ignore_index=0, reduction="sum")
    expected = torch.autograd.grad(loss, list(model.parameters()))
    model.eval()
    found = updates.gradient()
    assert found.loss == pytest.approx(loss.item() / batch.tokens, rel=1e-6)
    for p, part, by_hand in zip(model.parameters(), found.parts, expected, strict=True):
        assert p.dtype == part.dtype == torch.float32
        torch.testing.assert_close(part, by_hand / batch.tokens, rtol=1e-5, atol=1e-7)
    exact = Updates(state(), setting()).gradient()
    assert found.loss != exact.loss
    assert found.loss == pytest.approx(exact.loss, rel=2e-2)
    after(3, updates)
    moments = [v for s in made.optimizer.state.values() for v in s.values() if v.dim()]
    assert {v.dtype for v in moments} == {torch.float32}


def test_probes_of_a_bfloat16_run_measure_its_float32_weights():
    probe = REGISTRIES["probe"].resolve({"kind": "gradient_norm", "batches": 2})
    rows = [
        measure(state(train={"precision": word}), Measurement("key", 0, probe), REGISTRIES)[1]
        for word in ("bfloat16", "float32")
    ]
    assert rows[0] == rows[1]


def test_a_resumed_bfloat16_run_has_the_same_bits():
    chosen = {"train": {"precision": "bfloat16"}}
    whole = after(3, Updates(state(**chosen), setting(**chosen)))
    begun = state(**chosen)
    after(1, Updates(begun, setting(**chosen)))
    content, facts = to_bytes(begun)
    resumed = state(**chosen)
    from_bytes(resumed, content, json.loads(json.dumps(facts)))
    assert same(whole, after(2, Updates(resumed, setting(**chosen))))


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused_before_any_work(kind, tmp_path, monkeypatch, capsys, golden):
    monkeypatch.chdir(tmp_path)
    backend = torch.cuda if kind == "cuda" else torch.backends.mps
    monkeypatch.setattr(backend, "is_available", lambda: False)
    with golden.raises(LabError):
        require_devices(["cpu", kind])
    spec = {"lnlab": 2, "title": "t", "task": TASK, "model": MODEL, "placement": "pre", "seeds": 1, "report": []}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec | {"probes": [{"kind": "evaluation"}]}))
    assert main(["check", "spec.yaml", "-s", f"train.device={kind}"]) == 0
    assert main(["run", "spec.yaml", "-s", f"train.device={kind}"]) == 2
    assert f"torch sees no {kind} device" in capsys.readouterr().err
    assert not list(tmp_path.rglob("record.json"))


def test_a_gpu_is_held_to_the_same_bits_and_not_only_warned(monkeypatch):
    asked = []
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "use_deterministic_algorithms", lambda *given, **named: asked.append((given, named)))
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
    assert device_of(setting(train={"device": "cuda"})) == torch.device("cuda")
    assert asked == [((True,), {})]


def test_apples_gpus_have_no_float64_and_rows_go_together_on_a_gpu():
    (flaw,) = contradictions(setting(train={"device": "mps", "precision": "float64"}), REGISTRIES)
    assert flaw.path == ("train", "precision")
    assert rows_together(1_000, "cpu") == rows_together(1_000, "cuda") == 64
    assert (rows_together(10**6, "cpu"), rows_together(10**6, "cuda")) == (1, 8)


def test_a_probe_that_needs_float64_is_refused_where_the_device_has_none(tmp_path, monkeypatch, capsys, golden):
    monkeypatch.chdir(tmp_path)
    probes = [{"kind": "update_histogram", "at": [1]}, {"kind": "gradient_norm", "at": [0]}]
    training = {"optimizer": {"kind": "adam", "lr": 0.01}, "train": {"steps": 2, "device": "mps", "evaluate": [2]}}
    spec = {"lnlab": 2, "title": "t", "task": TASK, "model": MODEL, "placement": "pre", "seeds": 1, "report": []}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec | training | {"probes": probes}, indent=1))
    assert main(["check", "spec.yaml"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    golden(line)
    assert main(["check", "spec.yaml", "-s", "train.device=cpu"]) == 0


class WithoutFloat64(TorchDispatchMode):
    """A fake of a device without float64: no operation may give a tensor of it."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if any(isinstance(x, torch.Tensor) and x.dtype == torch.float64 for x in tree_leaves(out)):
            raise TypeError(f"Cannot convert a MPS Tensor to float64 dtype: {function}")
        return out


@pytest.mark.parametrize("name", [entry.name for entry in REGISTRIES["probe"] if entry.facts.in_float32])
def test_a_probe_that_says_so_needs_no_float64(name):
    made = state()
    updates = Updates(made, setting())
    before = {key: p.detach().clone() for key, p in made.model.named_parameters()}
    made.last_rate = updates.apply_update()
    made.last_update = {key: p.detach() - before[key] for key, p in made.model.named_parameters()}
    probe = REGISTRIES["probe"].resolve({"kind": name})
    with WithoutFloat64():
        assert measure(made, Measurement("key", 1, probe), REGISTRIES)[1]
        with pytest.raises(TypeError, match="float64"):
            measure(made, Measurement("key", 1, REGISTRIES["probe"].resolve("gradient_norm")), REGISTRIES)


def test_batches_are_moved_as_they_are_read_and_all_else_is_the_tasks():
    task = state().task
    assert placed(task, torch.device("cpu")) is task
    moved = placed(task, torch.device("meta"))
    batch = next(moved.batches("train", "train"))
    assert {t.device.type for t in (batch.source, batch.target_in, batch.target_out)} == {"meta"}
    assert (moved.size, moved.unit, moved.epoch_batches) == (task.size, task.unit, task.epoch_batches)
    assert isinstance(moved, type(task)), "a probe may ask what the task is"


CLASSIFIER = {"task": TASK | {"classes": 3}, "model": MODEL | {"kind": "classifier"}}
PARTS = [
    *({"norm": entry.name} for entry in REGISTRIES["norm"] if entry.facts.statistics == "token"),
    *({"attention": entry.name} for entry in REGISTRIES["attention"]),
    *({"model": MODEL | {"linear": entry.name}} for entry in REGISTRIES["linear"]),
    {"model": MODEL | {"fix_norm": True}},
    {"model": MODEL | {"kind": "encoder"}},
    *(CLASSIFIER | {"norm": entry.name} for entry in REGISTRIES["norm"]),
    *TEXTS,
]


@pytest.mark.parametrize("changes", PARTS, ids=lambda c: " ".join(map(str, c.values()))[-60:])
def test_no_part_of_a_model_stays_behind_on_the_cpu(changes):
    """On a fake of a GPU, whose tensors have shapes and no values: an operation on two devices is refused."""
    with pytest.raises(RuntimeError, match="expected device"):
        torch.ones(2, device="meta") + torch.ones(2)
    made = state(**changes)
    batch = next(placed(made.task, torch.device("meta")).batches("train", "train"))
    loss, _ = made.task.loss(made.model.to("meta"), batch)
    gradients = torch.autograd.grad(loss, list(made.model.parameters()), allow_unused=True)
    assert {g.device.type for g in (loss, *gradients) if g is not None} == {"meta"}


class Waits(TorchDispatchMode):
    """Counts what a GPU would make the processor wait for: numbers read, and shapes that depend on values."""

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "equal", "is_nonzero", "_to_copy")

    def __init__(self, monkeypatch):
        super().__init__()
        self.names = []
        read = torch.Tensor.tolist
        monkeypatch.setattr(torch.Tensor, "tolist", lambda x: self.names.append("tolist") or read(x))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name().removeprefix("aten::").partition(".")[0]
        if any(name.startswith(word) for word in self.NAMES) and name != "_to_copy":
            self.names.append(name)
        if name == "index" and any(x is not None and x.dtype == torch.bool for x in args[1]):
            self.names.append(name)  # a mask is a shape that depends on values
        if name == "_to_copy" and "device" in (kwargs or {}) and not kwargs.get("non_blocking"):
            self.names.append(name)
        return func(*args, **(kwargs or {}))


SYNCHRONISING = [
    {}, {"placement": "post"}, {"norm": "rms"}, {"train": {"clip": 1.0}}, {"train": {"accumulate": 3}},
    {"model": MODEL | {"layers": 1}, "placement": "rezero"}, *TEXTS,
]  # fmt: skip


@pytest.mark.parametrize("changes", SYNCHRONISING, ids=str)
def test_a_training_step_waits_for_the_device_once(changes, monkeypatch):
    changes = changes | {"optimizer": {"kind": "sgd", "lr": 0.01}}  # Adam counts its steps on the processor
    made = state(**changes)
    made.task = _PlacedTask(made.task, torch.device("cpu"))
    updates = Updates(made, setting(**changes))
    for _ in range(4):  # they make what is kept, as the encoding of as many positions as a batch has
        updates.apply_update()
    updates.batches()
    with Waits(monkeypatch) as waits:
        updates.gradient()
        updates.apply_update()
    assert waits.names == ["tolist"], "the loss and the norm of a step are read together, and nothing else is"


def test_what_makes_a_gpu_wait_is_counted(monkeypatch):
    x = torch.arange(3.0)
    with Waits(monkeypatch) as waits:
        x.sum().item(), bool(x.isfinite().all()), x.nonzero(), x[x > 1], x.tolist(), torch.equal(x, x)
    assert len(waits.names) >= 6


def test_numbers_of_one_type_are_read_together_and_exactly(monkeypatch):
    one, two = torch.tensor(0.1), torch.tensor([1 / 3])
    with Waits(monkeypatch) as waits:
        found = read_scalars(one, two)
    assert found == [float(one), float(two)]
    assert waits.names == ["tolist"]
    assert read_scalars(one, two.double()) == [float(one), float(two)]


def test_a_step_of_lanczos_waits_for_the_device_once(monkeypatch):
    values = torch.linspace(-1, 1, 40, dtype=torch.float64)
    with Waits(monkeypatch) as waits:
        lanczos(lambda block: block * values, torch.ones(1, 40), 5, basis=True)
    assert waits.names.count("tolist") == 5
    assert len(waits.names) <= 5 + 3, "and for the start, and for the orthogonality at the end"


def test_batches_for_a_gpu_are_pinned_and_nobody_waits_for_them(monkeypatch):
    calls = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda x: calls.append("pinned") or x)
    moved = torch.Tensor.to
    to = lambda x, device, **given: calls.append((torch.device(device).type, given)) or moved(x, "cpu")  # noqa: E731
    made = state()
    monkeypatch.setattr(torch.Tensor, "to", to)
    next(placed(made.task, torch.device("cuda")).batches("train", "train"))
    assert calls == ["pinned"] * 3 + [("cuda", {"non_blocking": True})] * 3


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_a_fused_optimizer_makes_the_same_steps(kind):
    changes = {"optimizer": {"kind": kind, "lr": 0.01, "eps": 1e-3}}  # so that no noise becomes a step
    plain, made = state(**changes), state(**changes)
    assert type(made.optimizer) in FUSED
    assert not any(group["fused"] for group in made.optimizer.param_groups), "on a processor numbers stay as they were"
    fuse(made.optimizer)
    one, two = (after(3, Updates(s, setting(**changes))) for s in (plain, made))
    for name, p in one.items():
        torch.testing.assert_close(two[name], p, rtol=1e-4, atol=1e-6)


@pytest.fixture
def cuda():
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU: torch sees no cuda device")
    return {"train": {"device": "cuda"}}


@pytest.mark.cuda
def test_gradient_norms_of_cpu_and_gpu_agree(cuda):
    probe = REGISTRIES["probe"].resolve({"kind": "gradient_norm", "batches": 2})
    rows = [measure(state(**c), Measurement("key", 0, probe), REGISTRIES)[1] for c in ({}, cuda)]
    for here, there in zip(*rows, strict=True):
        assert there == here | {"value": pytest.approx(here["value"], rel=1e-4)}


@pytest.mark.cuda
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_resumed_run_on_the_same_gpu_has_the_same_bits(cuda, precision):
    chosen = {"train": cuda["train"] | {"precision": precision}}
    whole = after(3, Updates(state(**chosen), setting(**chosen)))
    begun = state(**chosen)
    after(1, Updates(begun, setting(**chosen)))
    resumed = state(**chosen)
    from_bytes(resumed, *to_bytes(begun))
    assert {p.device.type for p in resumed.model.parameters()} == {"cuda"}
    assert same(whole, after(2, Updates(resumed, setting(**chosen))))


@pytest.mark.cuda
@pytest.mark.parametrize("kind", ["gradient_norm", "hidden_norm", "hessian_spectrum"])
def test_a_probe_on_a_gpu_leaves_no_trace(cuda, kind):
    made = state(**cuda)
    before = {name: p.detach().clone() for name, p in made.model.named_parameters()}
    generator = torch.cuda.get_rng_state()
    few = {"draws": 1, "steps": 4} if kind == "hessian_spectrum" else {}
    probe = REGISTRIES["probe"].resolve({"kind": kind, "batches": 1, **few})
    assert measure(made, Measurement("key", 0, probe), REGISTRIES)[1]
    assert same(before, {name: p.detach() for name, p in made.model.named_parameters()})
    assert torch.equal(generator, torch.cuda.get_rng_state())
    assert all(p.grad is None for p in made.model.parameters())
