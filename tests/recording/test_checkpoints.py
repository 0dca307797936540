"""Checkpoints are measured as the models that they were saved from."""

import weakref

import polars as pl
import pytest
import torch
from safetensors.torch import save_file

import lnlab
from lnlab.errors import LabError
from lnlab.outside.own_model import checkpoints


@pytest.fixture
def saved(tmp_path, small):
    """The same weights in five ways, and what measuring them says."""
    torch.manual_seed(1)
    models = {step: small.NanoGPT() for step in (0, 10, 20, 30, 40)}
    torch.save(models[0].state_dict(), tmp_path / "step-0.pt")
    torch.save({"model": models[10].state_dict(), "epoch": 3}, tmp_path / "step-10.pt")
    wrapped = {f"_orig_mod.module.{name}": x for name, x in models[20].state_dict().items()}
    torch.save({"state_dict": wrapped}, tmp_path / "step-20.pt")
    untied = {name: x.contiguous() for name, x in models[30].state_dict().items() if name != "head.weight"}
    save_file(untied, tmp_path / "step-30.safetensors")
    (tmp_path / "step-40").mkdir()
    save_file(
        untied | {n: x for n, x in models[40].state_dict().items() if n in untied},
        tmp_path / "step-40/model.safetensors",
    )
    return tmp_path, models


def test_every_form_of_a_checkpoint(saved, small, some_batches):
    folder, models = saved
    batches = some_batches(1, 2)
    given = {"probes": ["gradient_norm"], "sites": small.NANO_SITES}
    m = lnlab.measure_checkpoints(small.NanoGPT, folder / "step-*", iter(batches), small.token_loss, **given)
    frame = m.frame("gradient_norm")
    for step, model in models.items():
        expected = lnlab.measure(model, batches, small.token_loss, **given).frame("gradient_norm")["value"]
        assert frame.filter(pl.col("step") == step)["value"].to_list() == expected.to_list()
    m.plot("gradient_norm", x="step").to_dict()


def test_while_a_model_is_measured_its_file_is_not_in_memory(saved, small, some_batches, monkeypatch):
    read, loaded, alive = checkpoints._weights, [], []

    def weights(path):
        tensors = read(path)
        loaded.extend(map(weakref.ref, tensors.values()))
        return tensors

    def loss(model, batch):
        alive.append(sum(tensor() is not None for tensor in loaded))
        return small.token_loss(model, batch)

    monkeypatch.setattr(checkpoints, "_weights", weights)
    lnlab.measure_checkpoints(small.NanoGPT, saved[0] / "step-?.pt", some_batches(1, 1), loss)
    assert loaded
    assert set(alive) == {0}


def test_mistakes_have_one_line(saved, small, tmp_path):
    folder, _ = saved
    refused("no file matches", folder / "none-*")
    refused("is not there", {1: folder / "none"})
    refused("lacks 'blocks.2.", folder / "step-0.pt", lambda: small.NanoGPT(layers=3))
    refused("has the unknown 'blocks.1.", folder / "step-0.pt", lambda: small.NanoGPT(layers=1))
    refused("is of step 10, and so is", [folder / "step-10.pt", folder / "step-10.pt"])
    refused("has no step in its name", [tmp_path / "last.pt"])
    (tmp_path / "empty-1").mkdir()
    refused("holds no weights", {1: tmp_path / "empty-1"})


OF_OTHER_KINDS = {
    "complex": lambda x: x.to(torch.complex64),
    "whole": lambda x: x.to(torch.int64),
    "sparse": lambda x: x.to_sparse(),
    "absent": lambda x: x.to("meta"),
}


@pytest.mark.parametrize("kind", OF_OTHER_KINDS)
def test_weights_of_which_a_copy_would_lose_something_are_refused(tmp_path, kind):
    weights = torch.nn.Linear(4, 3).state_dict()
    torch.save({name: OF_OTHER_KINDS[kind](x) for name, x in weights.items()}, tmp_path / "step-1.pt")
    refused(r"step-1.pt: has another kind of numbers in 'bias' and 1 more", tmp_path / "step-1.pt")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\3\4", b"\x80\x02\xff\xfe", b"\x80\x05K\x01."])
@pytest.mark.parametrize("ending", ["pt", "safetensors"])
def test_what_is_no_checkpoint_has_one_line(tmp_path, content, ending):
    path = tmp_path / f"step-1.{ending}"
    path.write_bytes(content)
    refused(r"(cannot be read as weights alone|is no state dict)", path)
    torch.save({1: torch.ones(3)}, tmp_path / "step-2.pt")
    refused("is no state dict", tmp_path / "step-2.pt")


@pytest.mark.parametrize(
    "files", [5, None, [3], {1: None}, {"x": "a.pt"}, {-1: "a.pt"}, {1.5: "a.pt"}, {2**63: "a.pt"}]
)
def test_files_of_another_form_are_refused(files):
    refused("measure: files has", files)


@pytest.mark.parametrize("build", [5, torch.nn.Linear(4, 3), lambda: 5, lambda: 1 / 0, lambda seed: seed])
def test_what_makes_no_model_is_refused(tmp_path, build):
    torch.save(torch.nn.Linear(4, 3).state_dict(), tmp_path / "step-1.pt")
    refused(r"measure: build(\(\))? (is|returned|failed)", tmp_path / "step-1.pt", build)


def refused(pattern, files, build=lambda: torch.nn.Linear(4, 3)):
    with pytest.raises(LabError, match=pattern) as caught:
        lnlab.measure_checkpoints(build, files, [torch.ones(2, 4)], lambda m, b: m(b).square().mean())
    assert "\n" not in str(caught.value)


NAMES = {
    "epoch=2-step=300-val_loss=1.25.ckpt": 300,
    "epoch=2-step=300-val_loss=1.5.ckpt": 300,
    "step=10-v1.ckpt": 10,
    "step_1000-seed3.pt": 1000,
    "model_0.5B_step1000_v2.pt": 1000,
    "lr3e-4-iter_20.pt": 20,
    "global_step_70-rank0.pt": 70,
    "checkpoint-500.pt": 500,
    "5000-steps-seed1.pt": 5000,
    "warmup_steps=100-step=300.pt": 300,
    "model40.pt": 40,
}
UNNAMED = [
    *("gpt2.pt", "acc=93.pt", "epochs=3.pt", "run_3.pt", "layer12.pt", "step=-1.pt"),
    *("step_10_000.pt", "step-10,000.pt", "10_000-steps.pt", "warmup_steps=100.pt"),
    *("lr3e-4.pt", "epoch=3.ckpt", "step10k.pt", "seed3.pt", "model_2_7.pt", "last.pt", "step1-step2.pt"),
]


def step_of(path, **content):
    torch.save({"state_dict": torch.nn.Linear(4, 3).state_dict(), **content}, path)
    given = {"batches": [torch.ones(2, 4)], "loss": lambda m, b: m(b).square().mean()}
    m = lnlab.measure_checkpoints(lambda: torch.nn.Linear(4, 3), path, **given)
    return m.frame("gradient_norm").with_columns(step=m.results.runs["steps"][0])["step"].unique().to_list()


@pytest.mark.parametrize("name", NAMES)
def test_the_step_stands_behind_its_word(tmp_path, name):
    assert step_of(tmp_path / name, global_step=7) == [NAMES[name] if name != "model40.pt" else 7]
    assert step_of(tmp_path / name) == [NAMES[name]]


@pytest.mark.parametrize("name", UNNAMED)
def test_a_name_that_does_not_say_its_step_is_not_guessed_at(tmp_path, name, golden):
    with golden.raises(LabError):
        step_of(tmp_path / name)
    if name != "step1-step2.pt":
        assert step_of(tmp_path / name, global_step=70) == [70]


def test_the_folder_of_a_trainer_says_its_step(tmp_path, small, some_batches):
    folder = tmp_path / "best-2-of-3"
    folder.mkdir()
    torch.save(small.NanoGPT().state_dict(), folder / "model.pt")
    (folder / "trainer_state.json").write_text('{"global_step": 120, "log_history": []}')
    m = lnlab.measure_checkpoints(small.NanoGPT, folder, some_batches(1, 1), small.token_loss)
    assert m.frame("gradient_norm")["step"].unique().to_list() == [120]
