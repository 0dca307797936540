"""The real packages on tiny models."""

import logging
import socket
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import torch

import lnlab


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_transformers(tmp_path, small, some_batches):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    config = transformers.GPT2Config(vocab_size=13, n_positions=8, n_embd=8, n_layer=2, n_head=2)
    config.update({"bos_token_id": 0, "eos_token_id": 0})
    data = [{"input_ids": row, "labels": row} for batch in some_batches(1, 6) for row in batch]

    def loss(model, batch):
        return model(input_ids=batch, labels=batch).loss

    def trained(rec):
        torch.manual_seed(1)
        model = transformers.GPT2LMHeadModel(config)
        args = transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"),
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            max_steps=6,
            logging_steps=1,
            max_grad_norm=0.5,
            learning_rate=1e-2,
            lr_scheduler_type="constant",
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            eval_strategy="steps",
            eval_steps=3,
            disable_tqdm=True,
            seed=1,
        )
        trainer = transformers.Trainer(model=model, args=args, train_dataset=data, eval_dataset=data[:4])
        clipped = {}

        class Watch(transformers.TrainerCallback):
            def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
                clipped[state.global_step + 1] = {n: p.grad.norm().item() for n, p in model.named_parameters()}

        trainer.add_callback(Watch())
        if rec:
            trainer.add_callback(rec.transformers())
        trainer.train()
        return model, clipped

    rec = lnlab.Recorder(
        tmp_path / "run",
        settings={"lr": 1e-2},
        seed=1,
        probes=["gradient_norm", "update_size", "displacement"],
        batches=some_batches(99, 2),
        loss=loss,
        every=2,
        hooks_every=1,
    )
    model, clipped = trained(rec)
    plain, _ = trained(None)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), plain.parameters(), strict=True))
    runs = lnlab.open_runs(rec.folder.path)
    assert runs.results.runs.row(0, named=True)["status"] == "finished"
    assert runs.results.runs["done"].to_list() == [6]
    frame = runs.frame("step_gradient_norm")
    for step in range(1, 7):
        at = frame.filter(pl.col("step") == step)
        tied = at.filter(pl.col("path") == "transformer.wte.weight")["value"].item()
        assert tied == pytest.approx(clipped[step]["transformer.wte.weight"], rel=1e-6)
        total = at.filter(~pl.col("path").str.contains(r"\["))["value"].pow(2).sum()
        assert total <= 0.5**2 * (1 + 1e-5)
    assert runs.frame("gradient_norm")["step"].unique().sort().to_list() == [0, 2, 4, 6]
    losses = runs.frame("loss")
    assert losses.filter(pl.col("split") == "train")["step"].to_list() == [1, 2, 3, 4, 5, 6]
    assert losses.filter(pl.col("split") == "validation")["step"].to_list() == [3, 6]
    assert (runs.frame("global_gradient_norm")["value"] > 0.5).any()  # before clipping


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_trainer_of_lightning(small, some_batches, tmp_path, accumulate):
    lightning = pytest.importorskip("lightning.pytorch")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = small.NanoGPT()

        def training_step(self, batch, _):
            total, count = small.token_loss(self.net, batch)
            return total / count

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def loss(module, batch):
        return small.token_loss(module.net, batch)

    def trained(rec):
        torch.manual_seed(1)
        module = Module()
        seen = []

        class Watch(lightning.Callback):
            def on_before_zero_grad(self, trainer, pl_module, optimizer):
                seen.append({n: p.grad.norm().item() for n, p in pl_module.named_parameters() if p.grad is not None})

        callbacks = [Watch(), *([rec.lightning()] if rec else [])]
        trainer = lightning.Trainer(
            max_steps=4,
            accumulate_grad_batches=accumulate,
            gradient_clip_val=0.3,
            callbacks=callbacks,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        trainer.fit(module, torch.utils.data.DataLoader(torch.cat(some_batches(1, 8)), batch_size=4))
        return module, seen

    sites = {f"net.{pattern}": address for pattern, address in small.NANO_SITES.items()}
    rec = lnlab.Recorder(
        tmp_path / "run",
        settings={"lr": 0.1},
        seed=1,
        probes=["gradient_norm", "update_size", "displacement"],
        batches=some_batches(99, 2),
        loss=loss,
        sites=sites,
        every=2,
        hooks_every=1,
    )
    module, _ = trained(rec)
    plain, _ = trained(None)
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), plain.parameters(), strict=True))
    runs = lnlab.open_runs(rec.folder.path)
    assert runs.results.runs.row(0, named=True)["status"] == "finished"
    ratios = runs.frame("update_to_weight")
    norms = runs.frame("step_gradient_norm")
    for step in range(1, 5):
        total = norms.filter(pl.col("step") == step)["value"].pow(2).sum() ** 0.5
        assert total == pytest.approx(0.3, rel=1e-4)  # after clipping, as the optimizer used it
    assert ratios["step"].unique().sort().to_list() == [1, 2, 3, 4]
    assert runs.frame("loss")["step"].to_list() == [1, 2, 3, 4]
    assert runs.frame("gradient_norm")["step"].unique().sort().to_list() == [0, 2, 4]


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def spawned(kind, folder):
    port = str(_free_port())
    script = Path(__file__).parent / "two_processes.py"
    command = [sys.executable, str(script), kind]
    processes = [subprocess.Popen([*command, str(rank), port, str(folder)]) for rank in range(2)]
    assert [process.wait(180) for process in processes] == [0, 0]


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_two_processes_of_ddp_rank_0_records(tmp_path):
    folder = tmp_path / "run"
    spawned("ddp", folder)
    gradients = torch.load(f"{folder}-gradients")
    frame = lnlab.open_runs(folder).frame("step_gradient_norm")
    norms = dict(frame.select("path", "value").iter_rows())
    assert norms == pytest.approx({n: g.norm().item() for n, g in gradients.items()}, rel=1e-6)
    assert lnlab.open_runs(folder).frame("gradient_norm")["step"].unique().to_list() == [1]


FAILURES_OF_RANK_0 = {
    "loss": "KeyError: 'planted'",
    "build": "build() makes another model",
    "scalar": "'other' is a tensor of shape (3,)",
}
"""What is done on rank 0 alone, and must not leave the other waiting for its next step."""


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_two_processes_of_fsdp_local_norms_are_reduced_once(tmp_path, small, some_batches, golden):
    folder = tmp_path / "run"
    spawned("fsdp", folder)
    for rank in (0, 1):  # both are refused, so that neither waits for the other
        lines = (tmp_path / f"run-refused-{rank}").read_text().splitlines()
        assert len(lines) == 2
        assert all("a sharded model cannot be copied, and probes read copies; give build=" in x for x in lines)
        told = (tmp_path / f"run-refused-updates-{rank}").read_text()
        golden(told)
    for name, words in FAILURES_OF_RANK_0.items():
        told = [(tmp_path / f"run-failed-{name}-{rank}").read_text() for rank in (0, 1)]
        assert all(words in each for each in told)
        assert "rank 0 failed: " in told[1]
    gradients, before, after = torch.load(f"{folder}-truth")
    runs = lnlab.open_runs(folder)
    norms = dict(runs.frame("step_gradient_norm").select("path", "value").iter_rows())
    assert norms == pytest.approx({n: g.norm().item() for n, g in gradients.items()}, rel=1e-6)
    ratios = dict(runs.frame("update_to_weight").select("path", "value").iter_rows())
    for name, value in ratios.items():
        assert value == pytest.approx(((after[name] - before[name]).norm() / before[name].norm()).item(), rel=1e-4)
    # Probes of the gathered model are those of a plain one with its weights, at both steps.
    moved = runs.frame("total_displacement").filter(pl.col("step") == 1)["value"].item()
    assert moved == pytest.approx(sum((after[n] - before[n]).square().sum().item() for n in after) ** 0.5, rel=1e-5)
    for step, weights in ((0, before), (1, after)):
        plain = small.NanoGPT()
        plain.load_state_dict(weights, strict=False)
        measured = lnlab.measure(plain, some_batches(3, 1), small.token_loss, probes=["gradient_norm"])
        expected = dict(measured.frame("gradient_norm").select("path", "value").iter_rows())
        found = runs.frame("gradient_norm").filter(pl.col("step") == step)
        assert dict(found.select("path", "value").iter_rows()) == pytest.approx(expected, rel=1e-6)
