"""A probe of one's own that copies a fact of another, and has other parameters, runs."""

import polars as pl
import pytest

from tests.support.toy_specs import UNTRAINED, toy_spec

PROBE = '''
"""A probe."""
from collections.abc import Iterator
import torch
from lnlab.facts import QuantityWords
from lnlab.probes.probe import State, once, probes, reads_next_update, with_gradient
from lnlab.tables import Row

RANK = QuantityWords("stable rank", "ratio", "squared Frobenius norm over squared spectral norm of a matrix")

@probes.register("stable_rank", table="sites", quantities={"stable_rank": RANK}, FACTS)
def stable_rank(state: State, *, PARAMETER) -> Iterator[Row]:
    """``‖W‖_F² / σ_max²``."""
    for name, p in state.model.named_parameters():
        if p.ndim == 2:
            s = torch.linalg.svdvals(p.detach().double())
            yield {"quantity": "stable_rank", "sublayer": name, "value": float((s**2).sum() / s[0] ** 2)}
'''
REST = """\
seeds: 2
probes:
  - {kind: stable_rank, at: init}
"""


@pytest.mark.parametrize(
    ("facts", "parameter"),
    [
        ("passes=once", "least: int = 2"),
        pytest.param("passes=with_gradient", "share: float = 0.5", marks=pytest.mark.nightly),
        pytest.param("passes=with_gradient, ahead=reads_next_update", "words: str = ''", marks=pytest.mark.nightly),
    ],
)
def test_an_own_probe_without_batches_is_measured(tmp_path, lnlab_process, facts, parameter):
    (tmp_path / "own.py").write_text(PROBE.replace("FACTS", facts).replace("PARAMETER", parameter))
    (tmp_path / "own.yaml").write_text(toy_spec(UNTRAINED, REST, title="Stable rank: which?"))
    for words in ("check", "run -w 1", "results --out rows.csv"):
        command, *options = words.split()
        done = lnlab_process(["--with", "own.py", command, "own.yaml", *options], tmp_path, workers=False)
        assert done.returncode == 0, done.stderr
    rows = pl.read_csv(tmp_path / "rows.csv").filter(quantity="stable_rank")
    assert rows["value"].is_between(1, 64).all()
    assert rows["seed"].n_unique() == 2


@pytest.mark.parametrize("facts", ["passes=lambda p: p['rows']", "passes=with_gradient"])
def test_a_fact_that_fails_is_refused_where_its_probe_stands(tmp_path, golden, lnlab_process, facts):
    (tmp_path / "own.py").write_text(PROBE.replace("FACTS", facts).replace("PARAMETER", "batches: str = 'many'"))
    (tmp_path / "own.yaml").write_text(toy_spec(UNTRAINED, REST, title="Stable rank: which?"))
    done = lnlab_process(["--with", "own.py", "check", "own.yaml"], tmp_path, workers=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("own.yaml:8:12: probes.0.kind: ")
    golden(line)


@pytest.mark.parametrize("row", ["'sublayr': name", "'value': 'big'"])
def test_a_row_that_no_table_takes_fails_its_run_by_name(tmp_path, golden, lnlab_process, row):
    bad = PROBE.replace("FACTS", "passes=once").replace("PARAMETER", "least: int = 2")
    bad = (
        bad[: bad.index("            s = ")] + f'            yield {{"quantity": "stable_rank", "value": 1.0, {row}}}\n'
    )
    (tmp_path / "own.py").write_text(bad)
    (tmp_path / "own.yaml").write_text(toy_spec(UNTRAINED, REST, title="Stable rank: which?"))
    done = lnlab_process(["--with", "own.py", "run", "own.yaml", "-w", "1"], tmp_path, workers=False)
    assert done.returncode == 1
    golden([line for line in done.stdout.splitlines() if "seed 1" in line])
