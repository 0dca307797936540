"""Loops as people write them: what stands in the tables is what was trained, and training goes on."""

import itertools
import logging

import polars as pl
import pytest
import torch
from torch import nn
from torch.nn import functional

import lnlab
from tests.support.refusals import one_line


@pytest.fixture
def recorder(tmp_path):
    numbers = itertools.count()

    def make(**given):
        number = next(numbers)
        given = {"settings": {"n": number}, "seed": 1, "hooks_every": 1, **given}
        return lnlab.Recorder(tmp_path / f"run-{number}", **given)

    return make


def recorded(rec, name="loss"):
    rec.close()
    return lnlab.open_runs(rec.folder.path, ended=True).frame(name).select("step", "value").rows()


def one_weight(rate=0.0):
    model = nn.Linear(2, 1)
    return model, torch.optim.SGD(model.parameters(), lr=rate)


@pytest.mark.parametrize("zeroing", ["none", "zero"])
@pytest.mark.parametrize("zeroed", ["before the call", "after the call", "before the pass"])
@pytest.mark.parametrize(("batches", "expected"), [(1, [1, 2, 3, 4, 5, 6]), (2, [1.5, 3.5, 5.5]), (3, [2, 5])])
def test_the_loss_of_an_update_is_the_mean_of_its_batches(recorder, batches, expected, zeroed, zeroing):
    model, opt = one_weight()
    rec = recorder().attach(model, opt)

    def zero(where):
        if zeroed == where:
            opt.zero_grad(set_to_none=zeroing == "none")

    for i in range(6):
        if i % batches == 0:
            zero("before the pass")
        model(torch.ones(1, 2)).sum().backward()
        if updates := (i + 1) % batches == 0:
            opt.step()
            zero("before the call")
        rec(model, loss=float(i + 1), accuracy=torch.tensor(2.0 * i + 2))
        if updates:
            zero("after the call")
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    assert runs.frame("loss").select("step", "value").rows() == list(enumerate(expected, 1))
    assert runs.frame("accuracy")["value"].to_list() == [2 * x for x in expected]


def test_a_loop_that_calls_now_and_then_or_before_its_update(recorder):
    model, opt = one_weight()
    rec = recorder().attach(model, opt)
    rec(model, loss=9.0)  # before any pass: the state at step 0
    for i in range(8):
        model(torch.ones(1, 2)).sum().backward()
        if i > 3:
            rec(model, loss=float(i))
        if i % 2:
            opt.step()
            opt.zero_grad()
    # Of updates 3 and 4, whose batches are 4, 5 and 6, 7; the last is made without a further call.
    assert recorded(rec) == [(0, 9.0), (3, 4.5), (4, 6.5)]


def test_without_hooks_the_number_of_a_step_is_the_mean_of_its_calls(recorder):
    model, _ = one_weight()
    rec = recorder()
    for i in range(6):
        rec(model, i // 2, loss=float(i), val_loss=float(i))
    rec.close()
    frame = lnlab.open_runs(rec.folder.path).frame("loss")
    assert frame.filter(split="train").select("step", "value").rows() == [(0, 0.5), (1, 2.5), (2, 4.5)]
    assert frame.filter(split="validation").select("step", "value").rows() == [(0, 1.0), (1, 3.0), (2, 5.0)]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("zeroed", ["before the pass", "before the call"])
@pytest.mark.parametrize("skipped", [{1}, {2}, {2, 3}, {4, 6}])
def test_an_update_that_a_scaler_skips_has_no_loss(recorder, skipped, zeroed, own, fused):
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01, fused=fused)
    scaler = torch.amp.GradScaler("cpu")
    rec = recorder().attach(model, opt)
    for step in range(1, 7):
        if zeroed == "before the pass":
            opt.zero_grad()
        scaler.scale(model(torch.ones(2, 5)).square().mean()).backward()
        if step in skipped:
            model.weight.grad[0, 0] = torch.inf
        scaler.step(opt)
        scaler.update()
        if zeroed == "before the call":
            opt.zero_grad()
        rec(model, step, loss=float(step)) if own else rec(model, loss=float(step))
    made = [float(step) for step in range(1, 7) if step not in skipped]
    # Without a step of the loop's own it is a loss of the weights before training, as far as anybody can tell.
    first = [(0, 1.0)] if skipped == {1} and zeroed == "before the call" and not own else []
    assert recorded(rec) == [*first, *enumerate(made, 1)]


@pytest.mark.parametrize("bad", [0, 1])
def test_of_accumulated_batches_with_an_infinite_gradient_none_counts(recorder, bad):
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    rec = recorder().attach(model, opt)
    for i in range(6):
        scaler.scale(model(torch.ones(2, 5)).square().mean()).backward()
        if i == 2 + bad:
            model.weight.grad[0, 0] = torch.nan
        if i % 2:
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
        rec(model, loss=float(i))
        if i % 2:
            opt.zero_grad()
    assert recorded(rec) == [(1, 0.5), (2, 4.5)]


SPARSE = {
    "embedding": lambda: nn.Sequential(nn.Embedding(11, 4, sparse=True), nn.Linear(4, 11)),
    "bag": lambda: nn.Sequential(nn.EmbeddingBag(11, 4, sparse=True, mode="sum"), nn.Linear(4, 11)),
    "half": lambda: nn.Sequential(nn.Embedding(11, 4, sparse=True), nn.Linear(4, 11)).to(torch.bfloat16),
}


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("passes", [1, 2])
def test_sparse_gradients(recorder, kind, passes):
    torch.manual_seed(0)
    model = SPARSE[kind]()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    rec = recorder().attach(model, opt)
    for tokens in torch.randint(11, (passes, 4, 5), generator=torch.Generator().manual_seed(0)):
        functional.cross_entropy(
            model(tokens).float().flatten(0, -2),
            tokens[..., -1].repeat_interleave(model(tokens).flatten(0, -2).shape[0] // 4),
        ).backward()
        rec(model, loss=1.0)
    right = model[0].weight.grad.to_dense().double().norm().item()
    before = [p.detach().clone() for p in model.parameters()]
    opt.step()
    rec(model, loss=3.0)
    assert recorded(rec) == [(1, (passes + 3) / (passes + 1))]
    frame = lnlab.open_runs(rec.folder.path).frame("step_gradient_norm")
    rows = dict(frame.select("path", "value").iter_rows())
    assert rows["0.weight"] == pytest.approx(right, rel=1e-6 if kind != "half" else 1e-2)
    ratios = dict(lnlab.open_runs(rec.folder.path).frame("update_to_weight").select("path", "value").iter_rows())
    moved = (model[0].weight.detach() - before[0]).float().norm() / before[0].float().norm()
    assert ratios["0.weight"] == pytest.approx(moved.item(), rel=1e-2 if kind == "half" else 1e-5)


def two_layers():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    matrices = torch.optim.SGD([model[0].weight, model[2].weight], lr=1e-2)
    vectors = torch.optim.AdamW([model[0].bias, model[2].bias], lr=1e-3)
    return model, matrices, vectors


def refused(text, call):
    assert text in one_line(call)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_optimizers_update_one_model(recorder, small, order):
    model, *both = two_layers()
    probes = ["update_size", "displacement"]
    rec = recorder(probes=probes, batches=[torch.ones(4, 5)], loss=lambda m, x: m(x).square().mean(), every=1)
    rec.attach(model, both)
    norms, moves = [], []
    for _ in range(3):
        model(torch.ones(4, 5)).square().mean().backward()
        norms.append({n: p.grad.norm().item() for n, p in model.named_parameters()})
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        for k in order:
            both[k].step()
        moves.append({n: (p.detach() - before[n]).square().mean().sqrt().item() for n, p in model.named_parameters()})
        rec(model, loss=1.0)
        for one in both:
            one.zero_grad()
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    for step, (of_step, moved) in enumerate(zip(norms, moves, strict=True), 1):
        frame = runs.frame("step_gradient_norm").filter(step=step)
        assert dict(frame.select("path", "value").iter_rows()) == pytest.approx(of_step, rel=1e-6)
        sizes = runs.frame("update_rms").filter(step=step)
        assert dict(sizes.select("path", "value").iter_rows()) == pytest.approx(moved, rel=1e-4)
    assert "update_over_rate_rms" not in runs.frame("update_size")["quantity"]  # there is no common rate
    assert runs.frame("learning_rate_1")["value"].to_list() == [1e-2] * 3
    assert runs.frame("learning_rate_2")["value"].to_list() == [1e-3] * 3


def test_an_optimizer_that_steps_more_often_counts_the_updates(recorder):
    model, often, seldom = two_layers()
    rec = recorder().attach(model, [often, seldom])
    for _ in range(2):
        for _ in range(3):
            model(torch.ones(4, 5)).square().mean().backward()
            often.step()
        seldom.step()
        rec(model, loss=1.0)
    rec.close()
    frame = lnlab.open_runs(rec.folder.path).frame("step_gradient_norm")
    assert frame.filter(path="0.weight")["step"].to_list() == [1, 2, 3, 4, 5, 6]
    assert frame.filter(path="0.bias")["step"].to_list() == [3, 6]


def test_groups_have_their_own_rates_and_one_rate_has_one_name(recorder):
    model, *_ = two_layers()
    groups = [{"params": model[0].parameters(), "lr": 0.1}, {"params": model[2].parameters(), "lr": 0.2}]
    opt = torch.optim.SGD(groups, lr=0.1)
    rec = recorder().attach(model, opt)
    for rates in ((0.1, 0.2), (0.3, 0.3)):
        for group, rate in zip(opt.param_groups, rates, strict=True):
            group["lr"] = rate
        opt.step()
        rec(model)
    rec.close()
    runs = lnlab.open_runs(rec.folder.path)
    assert runs.frame("learning_rate_1").select("step", "value").rows() == [(1, 0.1)]
    assert runs.frame("learning_rate_2").select("step", "value").rows() == [(1, 0.2)]
    assert runs.frame("learning_rate").select("step", "value").rows() == [(2, 0.3)]


def test_an_optimizer_that_is_left_out_is_told_and_a_second_attach_refused(recorder, capsys):
    model, matrices, vectors = two_layers()
    rec = recorder().attach(model, matrices)
    line = "attach: '0.bias' and 1 more is trained by no optimizer that is attached; give all optimizers"
    assert line in capsys.readouterr().err
    refused("another optimizer of this model is attached; give them together", lambda: rec.attach(model, vectors))
    refused("the optimizer 1 of 2 updates no parameter", lambda: recorder().attach(model, [matrices, matrices]))
    refused("the optimizer is int", lambda: recorder().attach(model, [matrices, 3]))
    for p in (model[0].bias, model[2].bias):
        p.requires_grad_(False)
    recorder().attach(model, matrices)
    assert "no optimizer" not in capsys.readouterr().err


CHANGES = {
    "added": lambda m: m.append(nn.Linear(3, 3)),
    "resized": lambda m: m.__setitem__(2, nn.Linear(8, 4)),
    "replaced": lambda m: m.__setitem__(0, nn.Linear(5, 8)),
    "removed": lambda m: m.__delitem__(2),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_model_that_changes_in_training_is_told_once_and_goes_on(recorder, kind, capsys):
    model, opt, _ = two_layers()
    opt.add_param_group({"params": [model[0].bias, model[2].bias]})
    probes = ["gradient_norm", "update_size", "displacement", "adaptive_rate"][:3]
    rec = recorder(probes=probes, batches=[torch.ones(4, 5)], loss=lambda m, x: m(x).square().mean(), every=1)
    rec.attach(model, opt)
    rec(model)
    for step in range(1, 6):
        if step == 3:
            CHANGES[kind](model)
        opt.zero_grad()
        model(torch.ones(4, 5)).square().mean().backward()
        opt.step()
        rec(model, step, loss=float(step))
    rec.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), step=5)
    model(torch.ones(4, 5)).square().mean().backward()
    rec._updates.optimizers[0].step()
    rec(model, 6, loss=6.0)
    assert recorded(rec) == [(step, float(step)) for step in range(1, 7)]
    assert capsys.readouterr().err.count("rec: the model has changed, '") == 1
    runs = lnlab.open_runs(rec.folder.path)
    assert runs.frame("gradient_norm")["step"].unique().sort().to_list() == [0, 1, 2, 3, 4, 5, 6]
    assert runs.frame("displacement")["step"].max() == 2
    last = runs.frame("step_gradient_norm").filter(step=6)
    assert sorted(last["path"]) == sorted(name for name, _ in model.named_parameters())


@pytest.mark.parametrize("step", ["7", 2.5, 10**30, -1, None, True, [1]])
def test_a_step_that_is_no_number_of_updates_has_one_line(recorder, step):
    model, opt = one_weight()
    if step is None:
        refused("nothing counts the updates", lambda: recorder()(model, step))
    elif step is not True:
        refused("step is", lambda: recorder()(model, step))
        refused("step is", lambda: recorder().attach(model, opt, step=step))


def frozen_nets(frozen):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(30, 16), nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 30))
    for name, p in net.named_parameters():
        p.requires_grad_(name not in frozen)
    return net


@pytest.mark.parametrize("frozen", [["0.weight"], ["1.weight", "1.bias"], ["3.weight"], ["0.weight", "3.bias"]])
@pytest.mark.parametrize("biases", [False, True])
def test_frozen_weights_have_no_gradient_in_any_probe(frozen, biases):
    tokens = [torch.randint(30, (6, 10), generator=torch.Generator().manual_seed(0)) for _ in range(3)]

    def loss(model, batch):
        return functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    def measured(names):
        probes = [{"kind": "gradient_norm", "biases": biases}, "gradient_histogram", "sharpness"]
        return lnlab.measure(frozen_nets(names), tokens, loss, probes=probes)

    part, whole = measured(frozen), measured(())
    named = part.frame("gradient_norm")
    assert not set(named["path"]) & set(frozen)
    assert named.equals(whole.frame("gradient_norm").filter(~pl.col("path").is_in(frozen)), null_equal=True)
    trained = sum(p.numel() for p in frozen_nets(frozen).parameters() if p.requires_grad and p.dim() > 1)
    assert part.frame("gradient_histogram")["count"].sum() == trained
    squares = part.frame("gradient_norm").filter(quantity="gradient_norm")["value"].pow(2).sum()
    assert part.frame("total_gradient_norm")["value"].item() == pytest.approx(squares**0.5, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("losses", "batches", "expected"),
    [
        (lambda i: 4.0, 1, [4.0] * 8),
        (lambda i: 4.0, 2, [4.0] * 4),
        (lambda i: 4.0, 4, [4.0] * 2),
        (lambda i: i + 1.0, 2, [1.5, 3.5, 5.5, 7.5]),
        (lambda i: i + 1.0, 3, [2.0, 5.0, 7.5]),  # the last update of an epoch has the batches that are left
    ],
)
def test_the_loss_of_lightning_is_not_divided_by_the_accumulated_batches(recorder, tmp_path, losses, batches, expected):
    lightning = pytest.importorskip("lightning.pytorch")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)

        def training_step(self, batch, i):
            return losses(i) + 0 * self.layer(batch[0]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.0)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(16, 1)), batch_size=2)
    rec = recorder()
    trainer(lightning, rec, tmp_path, accumulate_grad_batches=batches).fit(Module(), data)
    assert recorded(rec) == list(enumerate(expected, 1))


@pytest.mark.filterwarnings("ignore")
def test_two_optimizers_of_lightning(recorder, tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.net, *self.both = two_layers()

        def training_step(self, batch, i):
            loss = self.net(batch[0]).square().mean()
            self.manual_backward(loss)
            for opt in self.optimizers():
                opt.step()
                opt.zero_grad()
            return {"loss": torch.tensor(i + 1.0)}

        def configure_optimizers(self):
            return self.both

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(6, 5)), batch_size=2)
    rec = recorder()
    trainer(lightning, rec, tmp_path).fit(Module(), data)
    assert recorded(rec) == [(1, 1.0), (2, 2.0), (3, 3.0)]
    frame = lnlab.open_runs(rec.folder.path).frame("step_gradient_norm")
    assert frame.group_by("step").len().sort("step").rows() == [(1, 4), (2, 4), (3, 4)]


def trainer(lightning, rec, folder, **given):
    return lightning.Trainer(
        max_epochs=1,
        callbacks=[rec.lightning()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        default_root_dir=folder,
        **given,
    )
