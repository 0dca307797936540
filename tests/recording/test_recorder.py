"""Against ``measure`` on copies at the same steps, against autograd by hand; and the loop is as it was."""

import copy
import json
import random

import numpy as np
import polars as pl
import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError
from lnlab.outside.own_model.measuring import measured_rows, probe_choice
from lnlab.outside.own_model.subject import Subject
from lnlab.outside.own_model.task import OwnTask
from lnlab.randomness import Draw
from tests.support.refusals import one_line

PROBES = ["gradient_norm", "parameter_size", "displacement", "update_size", "adaptive_rate", "update_histogram"]


@pytest.fixture
def recorder(tmp_path, small, some_batches):
    def make(name="run", **given):
        given = {"seed": 1, "settings": {"placement": "pre"}, "probes": ["gradient_norm"], "every": 4, **given}
        given = {"batches": some_batches(99, 3), "loss": small.token_loss, "hooks_every": 1, **given}
        return lnlab.Recorder(tmp_path / name, **given)

    return make


def values(frame, quantity, step):
    rows = frame.filter(pl.col("quantity") == quantity, pl.col("step") == step)
    return dict(zip(rows["path"], rows["value"], strict=True))


def test_the_loop_ends_with_the_same_weights_bit_for_bit(recorder, loop):
    plain, state = loop()
    with recorder(probes=PROBES, hooks=("gradients", "updates", "activations")) as rec:
        recorded, opt = loop(rec)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), recorded.parameters(), strict=True))
    for a, b in zip(plain.parameters(), recorded.parameters(), strict=True):
        assert torch.equal(state.state[a]["exp_avg_sq"], opt.state[b]["exp_avg_sq"])
    assert not opt._optimizer_step_pre_hooks
    assert not opt._optimizer_step_post_hooks
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in recorded.modules())


def test_random_states_modes_gradients_and_buffers_are_left(recorder, small):
    class Noisy(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return torch.randint(small.WORDS, (small.LENGTH,)) + 0 * random.randrange(2) + 0 * np.random.randint(2)

    torch.manual_seed(3)
    model = small.NanoGPT().train()
    model.blocks[0].eval()
    small.token_loss(model, torch.ones(1, 6, dtype=torch.long))[0].backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    modes = [m.training for m in model.modules()]
    loader = torch.utils.data.DataLoader(Noisy(), shuffle=True)
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    rec = recorder(batches=loader)
    rec(model, 4)
    rec.close()
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1] == random.getstate()
    assert (states[2] == np.random.get_state()[1]).all()
    assert modes == [m.training for m in model.modules()]
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients, strict=True))


def test_held_out_probes_are_those_of_measure_on_copies_at_the_same_step(recorder, loop, small, some_batches):
    copies = {}
    rec = recorder(
        probes=["gradient_norm", "parameter_size", {"kind": "sharpness", "every": 8}], sites=small.NANO_SITES
    )
    call = rec.__call__

    class Spy:
        attach = rec.attach

        def __call__(self, model, step, **given):
            copies[step] = copy.deepcopy(model)
            call(model, step, **given)

    loop(Spy())
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    for step in (0, 4, 8, 12):
        looked = lnlab.measure(
            copies[step],
            some_batches(99, 3),
            small.token_loss,
            probes=["gradient_norm", "parameter_size", "sharpness"],
            sites=small.NANO_SITES,
            step=step,
        )
        for probe in ("gradient_norm", "parameter_size", "sharpness"):
            recorded = runs.frame(probe).filter(pl.col("step") == step).drop("placement", "step")
            there = looked.frame(probe).drop("model", "step", strict=False)
            if probe == "sharpness" and step % 8:
                assert recorded.is_empty()
            else:
                assert recorded.equals(there, null_equal=True), (probe, step)


def test_probes_of_training_are_those_of_a_state_of_the_same_model(recorder, loop, small, some_batches):
    """Of a model without fused parameters, whose own optimizer, start and update the probes read directly."""
    kinds = ["displacement", "update_size", "adaptive_rate", "update_histogram"]
    rec = recorder(probes=kinds)
    taken = {}

    class Spy:
        attach = rec.attach

        def __call__(self, model, step, **given):
            taken["before"], taken["now"] = (
                taken.get("now"),
                {n: p.detach().clone() for n, p in model.named_parameters()},
            )
            taken.setdefault("start", taken["now"])
            rec(model, step, **given)

    model, opt = loop(Spy())
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    task = OwnTask(some_batches(99, 3), small.token_loss)
    subject = Subject.of(model, {}, {}, None)

    def add(state):
        prefix = {f"module.{name}": name for name in taken["now"]}
        state.step = 12
        state.initial = lambda: {long: taken["start"][name] for long, name in prefix.items()}
        state.last_update = {long: taken["now"][n] - taken["before"][n] for long, n in prefix.items()}
        state.last_rate = 1e-2
        originals = dict(zip(state.model.module.parameters(), model.parameters(), strict=True))
        state.optimizer = torch.optim.AdamW(state.model.parameters(), lr=1e-2)
        for own, original in originals.items():
            state.optimizer.state[own] = opt.state[original]
        return state

    for kind in kinds:
        rows = measured_rows(probe_choice(kind, task, trained=True), subject, task, Draw(1), add)
        recorded = runs.frame(kind).filter(pl.col("step") == 12)
        column = "count" if kind == "update_histogram" else "value"
        same = [row[column] for row in rows if kind != "displacement" or row["quantity"] == kind]
        assert recorded[column].to_list() == same, kind
        assert len(rows) > 5


def test_fused_parameters_are_split_in_training_too(recorder, loop, small):
    sites = {**small.NANO_SITES, "blocks.{layer}.attn.qkv": "decoder.self_attention.q/k/v"}
    rec = recorder(probes=["update_size", "displacement", "adaptive_rate"], sites=sites)
    before = {}

    def remember(model, opt):
        before.update({n: p.detach().clone() for n, p in model.named_parameters()})
        before["gradient"] = model.blocks[1].attn.qkv.weight.grad.clone()

    model, opt = loop(rec, after=remember)
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    name = "blocks.1.attn.qkv.weight"
    moved = (model.get_parameter(name).detach() - before[name]).double()
    for number, tensor in enumerate("qkv"):
        rows = slice(8 * number, 8 * number + 8)
        at = [pl.col("step") == 12, pl.col("layer") == 2, pl.col("tensor") == tensor]
        ratio = runs.frame("update_to_weight").filter(*at)["value"].item()
        assert ratio == pytest.approx((moved[rows].norm() / before[name].double()[rows].norm()).item(), rel=1e-6)
        norm = runs.frame("step_gradient_norm").filter(*at)["value"].item()
        assert norm == pytest.approx(before["gradient"][rows].double().norm().item(), rel=1e-6)
        v = opt.state[model.get_parameter(name)]["exp_avg_sq"][rows] / (1 - 0.999**12)
        rate = 1 / (v.sqrt() + 1e-8)
        recorded = runs.frame("adaptive_rate").filter(*at, pl.col("quantity") == "adaptive_rate_max")
        assert recorded["value"].item() == pytest.approx(rate.max().item(), rel=1e-6)


def clip(model, _):
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)


OPTIMIZERS = {
    "sgd": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
    "adamw": lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2, foreach=True),
    "fused": lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2, fused=True),
    "groups": lambda m: torch.optim.SGD(
        [{"params": list(m.parameters())[:3], "lr": 0.2}, {"params": list(m.parameters())[3:-2]}], lr=0.1
    ),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("clipped", [False, True])
def test_hooks_see_what_autograd_and_the_weights_say(recorder, loop, kind, clipped):
    rec = recorder(probes=[])
    seen = {}

    def remember(model, opt):
        if clipped:
            clip(model, opt)
        in_groups = {id(p) for group in opt.param_groups for p in group["params"]}
        named = {n: p for n, p in model.named_parameters() if id(p) in in_groups}
        seen.update({n: (p.grad.clone(), p.detach().clone()) for n, p in named.items()})

    model, _ = loop(rec, optimizer=OPTIMIZERS[kind], after=remember)
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    norms = values(runs.frame("step_gradient_norm"), "step_gradient_norm", 12)
    ratios = values(runs.frame("update_to_weight"), "update_to_weight", 12)
    assert set(norms) == set(seen)
    for name, (gradient, before) in seen.items():
        assert norms[name] == pytest.approx(gradient.double().norm().item(), rel=1e-6), name
        if before.norm():
            moved = (model.get_parameter(name).detach() - before).double()
            assert ratios[name] == pytest.approx((moved.norm() / before.double().norm()).item(), rel=1e-5), name
    if clipped:
        assert sum(v**2 for v in norms.values()) ** 0.5 <= 0.1 + 1e-6


def test_accumulated_gradients_and_frozen_layers(recorder, small, some_batches):
    torch.manual_seed(5)
    model = small.NanoGPT()
    for p in model.blocks[0].parameters():
        p.requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    rec = recorder(probes=["gradient_norm"], every=1)
    rec.attach(model, opt)
    for batch in some_batches(5, 2):
        small.token_loss(model, batch)[0].backward()
    expected = {n: p.grad.norm().item() for n, p in model.named_parameters() if p.grad is not None}
    opt.step()
    rec(model, 1)
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    norms = values(runs.frame("step_gradient_norm"), "step_gradient_norm", 1)
    assert norms == pytest.approx(expected, rel=1e-6)
    assert not any(name.startswith("blocks.0") for name in norms)
    assert not any(p.requires_grad for p in model.blocks[0].parameters())


@pytest.mark.parametrize("fused", [False, True])
def test_a_scaler_shows_unscaled_gradients_and_a_skipped_step_is_none(recorder, small, some_batches, fused):
    def trained(rec):
        torch.manual_seed(6)
        model = small.NanoGPT()
        opt = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=100)
        if rec:
            rec.attach(model, opt)
        true = None
        for number, batch in enumerate(some_batches(6, 4)):
            with torch.autocast("cpu", torch.bfloat16):
                total, count = small.token_loss(model, batch)
            scaler.scale(total / count).backward()
            if number == 1:
                model.wpe.weight.grad[0, 0] = torch.inf
            elif number == 3:
                true = {n: p.grad.double().norm().item() / scaler.get_scale() for n, p in model.named_parameters()}
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
            if rec:
                rec(model, loss=total / count)
        return model, true

    rec = recorder(probes=["gradient_norm", "update_size"], every=1)
    model, true = trained(rec)
    rec.close()
    plain, _ = trained(None)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), model.parameters(), strict=True))
    frame = lnlab.open_runs(rec.folder.path).frame("step_gradient_norm")
    assert frame["step"].unique().sort().to_list() == [1, 2, 3]
    assert values(frame, "step_gradient_norm", 3) == pytest.approx(true, rel=1e-6)


def test_a_closure_is_seen_as_the_optimizer_used_it(recorder, small, some_batches):
    torch.manual_seed(7)
    model = small.NanoGPT().eval()
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=2)
    rec = recorder(probes=["displacement"], every=1)
    rec.attach(model, opt)
    batch = some_batches(7, 1)[0]

    def closure():
        opt.zero_grad()
        total, count = small.token_loss(model, batch)
        (total / count).backward()
        return total / count

    opt.step(closure)
    gradients = {n: p.grad.double().norm().item() for n, p in model.named_parameters()}
    rec(model, 1)
    rec.close()
    frame = lnlab.open_runs(rec.folder.path).frame("step_gradient_norm")
    assert values(frame, "step_gradient_norm", 1) == pytest.approx(gradients, rel=1e-6)


def test_bfloat16_weights(recorder, small, some_batches):
    torch.manual_seed(8)
    model = nn.Linear(64, 64, dtype=torch.bfloat16)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    rec = recorder(probes=[])
    rec.attach(model, opt)
    model(torch.randn(5, 64, dtype=torch.bfloat16)).square().mean().backward()
    true = model.weight.grad.double().norm().item()
    opt.step()
    rec.close()
    frame = lnlab.open_runs(rec.folder.path).frame("step_gradient_norm")
    assert values(frame, "step_gradient_norm", 1)["weight"] == pytest.approx(true, rel=1e-6)


def test_activations_of_training(recorder, small, some_batches):
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    rec = recorder(probes=[], hooks=("activations",))
    rec.attach(model, opt)
    x = torch.randn(7, 3)
    first = model[0](x)
    y = model(x)
    y.sum().backward()
    opt.step()
    rec.close()
    frame = lnlab.open_runs(rec.folder.path).frame("step_activation_rms")
    expected = {"0": first.square().mean().sqrt().item(), "2": y.square().mean().sqrt().item()}
    assert dict(frame.select("sublayer", "value").iter_rows()) == pytest.approx(expected, rel=1e-6)


def test_a_resumed_run_goes_on_without_doubled_rows(recorder, loop, small, some_batches, golden):
    whole = recorder("whole", probes=["gradient_norm", "displacement"])
    loop(whole)
    whole.close()

    torch.manual_seed(1)
    model = small.NanoGPT()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batches = some_batches(1, 12)

    def steps(rec, first, last, kept=None):
        for step in range(first, last + 1):
            total, count = small.token_loss(model, batches[step - 1])
            (total / count).backward()
            opt.step()
            rec(model, step, loss=total / count)
            opt.zero_grad()
            if step == kept:
                saved.update(
                    copy.deepcopy({"m": model.state_dict(), "o": opt.state_dict(), "r": torch.get_rng_state()})
                )

    saved = {}
    rec = recorder("cut", probes=["gradient_norm", "displacement"])
    rec.attach(model, opt)
    rec(model, 0)
    steps(rec, 1, 9, kept=6)

    model.load_state_dict(saved["m"])
    opt.load_state_dict(saved["o"])
    torch.set_rng_state(saved["r"])
    with golden.raises(LabError):
        recorder("cut", probes=["gradient_norm", "displacement"]).attach(model, opt)
    with recorder("cut", probes=["gradient_norm", "displacement"]) as rec:
        rec.attach(model, opt, step=6)
        steps(rec, 7, 12)
    one, other = (lnlab.open_runs(r.folder.path) for r in (whole, rec))
    for name in ("step_gradient_norm", "loss", "displacement", "total_displacement", "gradient_norm", "learning_rate"):
        assert (
            one.frame(name)
            .sort("step", maintain_order=True)
            .equals(other.frame(name).sort("step", maintain_order=True), null_equal=True)
        ), name


def test_rows_survive_a_half_line_and_a_tail_that_is_in_a_part_already(recorder, loop):
    rec = recorder(probes=[])
    loop(rec)
    tail = rec.folder.path / "tail.jsonl"
    lines = tail.read_bytes()
    rec.folder.compact(rec.folder.facts()["addresses"])
    assert not tail.read_bytes()
    assert (rec.folder.path / "part-1.parquet").is_file()
    tail.write_bytes(lines + b'{"number": 99, "step": 9, "blo')  # killed between the part and its truncation
    frame = lnlab.open_runs(rec.folder.path, ended=True).frame("loss")
    assert frame["step"].to_list() == list(range(1, 13))


def test_statuses(recorder, loop, small):
    model, opt = loop(steps=1)

    def fails():
        with recorder("failed", probes=[]) as rec:
            rec.attach(model, opt)
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        fails()
    rec = recorder("open", probes=[], settings={"placement": "post"})
    loop(rec, steps=3)
    runs = lnlab.open_runs([rec.folder.path, rec.folder.path.parent / "failed"]).results.runs
    endings = {json.loads(s)["placement"]: rest for s, *rest in runs.select("setting", "status", "reason").iter_rows()}
    assert endings["post"] == ["interrupted", "was not closed"]
    assert endings["pre"] == ["failed", "ZeroDivisionError: division by zero"]
    ended = lnlab.open_runs(rec.folder.path, ended=True).results.runs
    assert ended["status"].to_list() == ["finished"]


def test_a_loss_that_is_no_number_ends_the_run_as_diverged_and_raises_nothing(recorder, loop, small):
    def broken(model, opt):
        with torch.no_grad():
            model.head.weight.fill_(torch.inf)

    for name, probes in (("held_out", ["gradient_norm"]), ("training", [])):
        rec = recorder(name, probes=probes, every=1, settings={"name_": name})
        loop(rec, after=broken, steps=3)
        rec.close()
        row = lnlab.open_runs(rec.folder.path).results.runs.row(0, named=True)
        assert row["status"] == "diverged"
        assert "nan" in row["reason"]
        assert row["done"] == 3


def refused(text, call):
    assert text in one_line(call)


def test_half_a_character_is_refused_where_it_is_given(recorder, small):
    for settings in ({"a\ud800": 1}, {"a": "b\ud800"}, {"a": ["b", {"c\udcff": 1}]}):
        with pytest.raises(LabError) as caught:
            recorder("b", settings=settings)
        assert [(issue.code, issue.where) for issue in caught.value.issues] == [("not-text", "settings")]
    rec = recorder("b", probes=[])
    with pytest.raises(LabError) as caught:
        rec(small.NanoGPT(), 1, **{"a\ud800": 1.0})
    assert caught.value.issues[0].where == "rec"
    rec(small.NanoGPT(), 1, loss=1.0)
    rec.close()


def test_mistakes_have_one_line(recorder, loop, small, tmp_path):
    recorder("a", settings={"lr": 0.001}, probes=[]).close()
    refused("holds a run with other settings: lr 0.001, not 0.003", lambda: recorder("a", settings={"lr": 0.003}))
    refused("holds the run of seed 1, not 2", lambda: recorder("a", settings={"lr": 0.001}, seed=2))
    refused("holds a run; give another folder", lambda: recorder("a", settings={"lr": 0.001}, resume=False))
    refused("the setting 'x' has the name of a column", lambda: recorder("b", settings={"x": 1}))
    refused("the setting 'layer' has the name of a column", lambda: recorder("b", settings={"layer": 1}))
    refused("no plain value", lambda: recorder("b", settings={"f": torch.ones(2)}))
    refused("probes are given and no loss", lambda: recorder("b", loss=None))
    refused("no batches", lambda: recorder("b", batches=[]))
    refused("'coordinate_size' with these parameters needs", lambda: recorder("b", probes=["coordinate_size"]))
    refused("needs training", lambda: recorder("b", probes=[{"kind": "gradient_norm", "batches": "step"}]))
    refused("stands in probes twice", lambda: recorder("b", probes=["gradient_norm", "gradient_norm"]))
    refused("no hook 'weights'", lambda: recorder("b", hooks=("weights",)))
    refused("every is 0", lambda: recorder("b", every=0))
    refused("the seed is", lambda: recorder("b", seed="one"))
    refused("no run matches", lambda: lnlab.open_runs(tmp_path / "z*"))
    model = small.NanoGPT()
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    refused("updates no parameter", lambda: recorder("c", probes=[]).attach(small.NanoGPT(), opt))
    refused("nothing counts the updates", lambda: recorder("d", probes=[])(model))
    rec = recorder("e", probes=[]).attach(model, opt)
    opt.step()
    refused("step is 0 after 1 update; count updates: enumerate(loader, 1)", lambda: rec(model, 0))
    refused("'loss' is a tensor of shape (2,)", lambda: rec(model, loss=torch.ones(2)))
    refused("needs the weights at step 0", lambda: recorder("f", probes=["displacement"]).attach(model, opt, step=5))
    recorder("g", settings={"lr": 1}, probes=[]).close()
    recorder("h", settings={"lr": 1}, probes=[]).close()
    both = [tmp_path / "g", tmp_path / "h"]
    refused("are one run: lr 1, seed 1; give different seeds", lambda: lnlab.open_runs(both))


def test_compiled_models_are_unwrapped(recorder, loop, small):
    torch.manual_seed(1)
    model = small.NanoGPT()
    compiled = torch.compile(model, backend="eager")
    rec = recorder(sites=small.NANO_SITES)
    loop(rec, model=compiled, steps=4)
    rec.close()
    frame = lnlab.open_runs(rec.folder.path).frame("gradient_norm")
    assert frame["layer"].drop_nulls().unique().sort().to_list() == [1, 2]
    assert not frame["path"].str.contains("_orig_mod").any()
    refused(
        "activations of a compiled model",
        lambda: recorder("b", hooks=("activations",)).attach(compiled, torch.optim.SGD(model.parameters())),
    )


def test_another_model_than_the_attached_is_refused(recorder, loop, small):
    model = small.NanoGPT()
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    rec = recorder(probes=[]).attach(model, opt)
    text = "this model has no parameter of the attached one"
    for other in (
        small.NanoGPT(),
        copy.deepcopy(model),
        torch.compile(small.NanoGPT(), backend="eager"),
        nn.DataParallel(small.NanoGPT()),
    ):
        refused(text, lambda other=other: rec(other))
    for same in (model, torch.compile(model, backend="eager"), nn.DataParallel(model), nn.ModuleDict({"inner": model})):
        rec(same)
    other = small.NanoGPT()
    rec.attach(other, torch.optim.SGD(other.parameters(), lr=1.0))
    rec(other)
    refused(text, lambda: rec(model))


@pytest.mark.parametrize(
    ("called", "said"), [((), "never recorded"), ((0,), "recorded at step 0 only"), ((0, 2), None), ((3,), None)]
)
def test_a_recorder_that_the_loop_does_not_call_says_so(recorder, small, capsys, called, said):
    model = small.NanoGPT()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    rec = recorder().attach(model, opt)
    for step in range(4):
        if step in called:
            rec(model)
        if step < 3:
            opt.step()
    rec.close()
    lines = [line for line in capsys.readouterr().err.splitlines() if "probes and losses" in line]
    expected = f"probes and losses were {said}, and 3 updates were made; call rec(model, loss=...) after each"
    assert len(lines) == (said is not None)
    assert all(expected in line for line in lines)


def test_the_change_of_the_output_is_that_of_two_passes(recorder, loop, small, some_batches):
    sites = {**small.NANO_SITES, "blocks.{layer}.attn.qkv": "decoder.self_attention.q/k/v"}
    rec = recorder(probes=[{"kind": "update_effect", "batches": 2}], sites=sites)
    kept = {}

    def remember(model, _opt):
        kept["before"] = copy.deepcopy(model)

    model, _ = loop(rec, after=remember)
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    with torch.no_grad():
        pairs = [[m.eval()(b[:, :-1]) for m in (model, kept["before"])] for b in some_batches(99, 3)[:2]]
    change = torch.cat([(x - y).double().square().sum(-1).flatten() for x, y in pairs]).mean().item()
    of = zip(model.parameters(), kept["before"].parameters(), strict=True)
    length = sum((p - q).double().square().sum().item() for p, q in of)
    for quantity, value in (("output_change_update", change), ("update_amplification", change / length)):
        at = runs.frame(quantity).filter(pl.col("step") == 12)
        assert at["value"].item() == pytest.approx(value, rel=1e-4), quantity
