"""The notebook runs from top to bottom with the packages it names alone, offline, and shows the numbers of the page."""

import ast
import copy
import json
import re
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import polars as pl
import pytest
import scipy.stats
from polars.testing import assert_frame_equal

from lnlab.claims.claim import stated_finding
from lnlab.claims.criterion import criterion_of
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample
from lnlab.claims.student import judge_sample
from lnlab.report.compose import build_parts
from lnlab.report.page import notebook_lab
from lnlab.report.page.figures import DrawnPart
from lnlab.report.page.notebook import escape_markdown, notebook_text, own_effects

STRINGS = json.loads(Path(__file__).with_name("hostile.json").read_text())
OFFLINE = """
import socket, sys
def refuse(self, address):
    raise OSError(f"network: {address}")
socket.socket.connect = refuse
"""
ALONE = """
import re, sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

def closure(names):
    known = set()
    while names:
        name = names.pop().lower().replace("_", "-")
        if name not in known:
            known.add(name)
            try:
                lines = requires(name) or []
            except PackageNotFoundError:
                continue  # a requirement of another platform
            names += [re.match("[A-Za-z0-9._-]+", line)[0] for line in lines if "extra" not in line]
    return known

installed = closure(["ipykernel", *{names!r}])
there = {{top: {{d.lower().replace("_", "-") for d in found}} for top, found in packages_distributions().items()}}

class Installed:  # a finder that finds nothing but the standard library and what is installed
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        known = top in sys.stdlib_module_names or there.get(top, set()) & installed
        return self.finder.find_spec(name, path, target) if known else None

sys.meta_path[:] = map(Installed, sys.meta_path)
for absent in ("lnlab", "scipy", "numpy"):
    try:
        __import__(absent)
    except ModuleNotFoundError:
        continue
    raise AssertionError(absent + " is no package that the notebook names")
"""
NAMES = ("panel", "series", "line", "x", "seed", "value")


@pytest.fixture(scope="module")
def written(folder):
    return nbformat.read(folder / "notebook.ipynb", as_version=4)


def test_it_is_valid_with_stable_ids_and_no_times(folder, written):
    nbformat.validate(written)
    ids = [cell.id for cell in written.cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", i) for i in ids)
    assert all(not cell.metadata for cell in written.cells)
    text = (folder / "notebook.ipynb").read_text()
    assert "timestamp" not in text
    assert "iopub" not in text


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::RuntimeWarning")
def test_it_runs_with_the_packages_it_names_and_without_a_network_to_equal_numbers(folder, written, tmp_path):
    names = re.search(r"`pip install ([^`]+)`", written.cells[0].source)[1].split()
    place = tmp_path / "moved"
    shutil.copytree(folder, place)
    ran = copy.deepcopy(written)
    for cell in ran.cells:
        cell.source = re.sub(
            r'^drawing\("(figure-\d+)"', r'points.write_parquet("\1.again")\n\g<0>', cell.source, flags=re.MULTILINE
        )
    ran.cells.insert(0, nbformat.v4.new_code_cell(OFFLINE + ALONE.format(names=names), id="offline"))
    client = nbclient.NotebookClient(
        ran, timeout=120, resources={"metadata": {"path": str(place)}}, record_timing=False, kernel_name="python3"
    )
    client.execute()
    pairs = [(a, b) for a, b in zip(written.cells, ran.cells[1:], strict=True) if a.cell_type == "code"]
    lab = [(a, b) for a, b in pairs[1:] if not a.outputs]
    pairs = [pairs[0], *((a, b) for a, b in pairs[1:] if a.outputs)]
    assert len(pairs) == 8, "opening, verdicts, and a cell for each of six figures"
    assert sum(a.source.startswith("draw(") for a, _ in lab) == 6
    assert len(lab) == 8, "a figure's lines each, a claim judged again, a question"
    assert all(theirs.outputs[-1].output_type == "execute_result" for _, theirs in lab)
    judged = ast.literal_eval(next(b for a, b in lab if "judge(" in a.source).outputs[-1].data["text/plain"])
    verdict = (
        pl.read_parquet(folder / "data" / "verdicts.parquet").filter(pl.col("low").is_not_null()).row(0, named=True)
    )
    assert judged["verdict"] == verdict["verdict"]
    assert list(judged["interval"]) == pytest.approx([verdict["low"], verdict["high"]])
    for ours, theirs in pairs[1:]:
        assert theirs.outputs[-1].data["text/plain"] == ours.outputs[-1].data["text/plain"]
    assert sum("image/svg+xml" in theirs.outputs[-1].data for _, theirs in pairs[1:]) == 6
    for number in range(1, 7):
        points = pl.read_parquet(place / f"figure-{number}.again").select("estimate", "low", "high")
        shown = pl.read_csv(folder / "tables" / f"figure-{number}.csv")
        shown = shown.select(pl.nth(-4).alias("estimate"), pl.nth(-3).alias("low"), pl.nth(-2).alias("high"))
        assert_frame_equal(*(f.cast(pl.Float64).sort(pl.all()) for f in (points, shown)), rel_tol=1e-7)


@pytest.fixture(scope="module")
def defined(written):
    """What the first code cell defines."""
    names = {}
    exec(next(cell.source for cell in written.cells if cell.cell_type == "code"), names)
    return names


@pytest.mark.parametrize("n", [*range(2, 62), 100, 1000])
def test_its_quantiles_are_those_of_student(defined, n):
    assert defined["student"](n) == pytest.approx(scipy.stats.t.ppf(0.975, n - 1), rel=1e-9)


@pytest.mark.parametrize("n", [4, 5, 9, 61])
def test_fewer_seeds_have_another_band_not_none(defined, n):
    numbers = np.random.default_rng(n).normal(3.0, 1.0, n)
    seeds = pl.DataFrame([(None, "Post-LN", 0, 1.0, s, v) for s, v in enumerate(numbers)], NAMES, orient="row")
    (row,) = defined["over_seeds"](seeds, log=False).iter_rows(named=True)
    low, high = scipy.stats.t.interval(0.95, n - 1, numbers.mean(), scipy.stats.sem(numbers))
    assert (row["low"], row["high"], row["n"]) == (pytest.approx(low), pytest.approx(high), n)


def test_pairs_of_two_quantities_are_means_of_both_at_each_place(defined):
    logs = np.random.default_rng(4).normal(size=(2, 3, 8))  # of y and x, three layers, eight seeds
    y, x = np.exp(logs)
    rows = [(None, "Post-LN", 0, a, x[a, s], s, y[a, s]) for a in range(3) for s in range(8)]
    seeds = pl.DataFrame(rows, [*NAMES[:3], "along", *NAMES[3:]], orient="row")
    made = defined["over_seeds"](seeds, log=True)
    assert made["x"].to_list() == pytest.approx(list(np.exp(logs[1].mean(1))))
    low, high = scipy.stats.t.interval(0.95, 7, logs[0].mean(1), scipy.stats.sem(logs[0], axis=1))
    assert made["low"].to_list() == pytest.approx(list(np.exp(low)))
    assert made["high"].to_list() == pytest.approx(list(np.exp(high)))
    assert made["n"].to_list() == [8, 8, 8]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_than_four_seeds_say_that_they_have_no_band(defined, n):
    seeds = pl.DataFrame([(None, "Post-LN", 0, 1.0, s, 2.0) for s in range(n)], NAMES, orient="row")
    with pytest.warns(UserWarning, match="fewer than four seeds have no band"):
        (row,) = defined["over_seeds"](seeds, log=True).iter_rows(named=True)
    assert (row["estimate"], row["low"], row["high"]) == (pytest.approx(2.0), None, None)


def test_texts_cannot_become_markdown_or_code(small):
    facts, _, (verdict, _) = small
    for text in STRINGS:
        given = replace(facts, title=text, question=text, source={"cite": text}, sections=())
        made = nbformat.reads(notebook_text(given, [replace(verdict, claim=text, says=text)], []), as_version=4)
        assert [c.source for c in made.cells if c.cell_type == "code"] == code(facts, verdict)
        for cell in made.cells:
            if cell.cell_type == "markdown":
                assert "<" not in cell.source
                assert "](" not in cell.source


def code(facts, verdict):
    made = nbformat.reads(notebook_text(replace(facts, sections=()), [verdict], []), as_version=4)
    return [c.source for c in made.cells if c.cell_type == "code"]


def test_escaping_keeps_words_and_one_line():
    assert escape_markdown("a\nb <i> *c* [d](e)") == r"a b &lt;i&gt; \*c\* \[d\]\(e\)"


FRACTIONS = Sample(dict(enumerate([0.9, 0.97, 1.0, 0.99, 0.93, 0.5])), log=False, trained=True, bounds=(0.0, 1.0))
SKEWED = Sample(dict(enumerate(np.exp(np.random.default_rng(5).normal(0.4, 0.3, 12)).tolist())), log=True, trained=True)


@pytest.mark.parametrize("sample", [SKEWED, FRACTIONS], ids=["skewed", "fractions"])
@pytest.mark.parametrize("look", [1, 2, 3])
@pytest.mark.parametrize("about", ["mean", "median", "share"])
@pytest.mark.parametrize(("margin", "edge"), [("source", e) for e in (0.6, 1.0, 1.4, 2.5)] + [("ours", 1.4)])
def test_a_claim_judged_again_has_the_interval_of_its_level_and_estimand(about, look, sample, margin, edge, defined):
    claim = {"id": "a", "kind": "ratio", "says": "It is larger.", "at_least": edge, "about": about, "margin": margin}
    criterion = criterion_of(claim, ("mean", "median", "share"), look, names_law=False)
    allowed = Region(low=edge)
    finding = judge_sample("ratio", sample, allowed, 5, criterion, criterion.null(1.0, allowed, ratio=True))
    if about != "mean" and sample is FRACTIONS and look > 1:
        assert not finding.tested, "six seeds decide about a median at the first look alone"
        return
    row = {**asdict(stated_finding(finding, claim, criterion, look)), "seeds": json.dumps(finding.seeds)}
    names = dict(defined)
    exec(notebook_lab.JUDGE.partition("claim = verdicts_with_seeds")[0], names)
    judged = names["judge"](row)
    assert judged["interval"] == pytest.approx([finding.low, finding.high], rel=1e-9)
    if not (about == "share" and margin == "ours"):
        assert judged["verdict"] == finding.verdict


LOGS = np.random.default_rng(5).normal(0.4, 0.06, 12)
LARGER = Sample(dict(enumerate(np.exp(LOGS).tolist())), log=True, trained=True)


@pytest.mark.parametrize(
    ("edge", "no_effect", "zone", "word"),
    [
        (2.5, None, None, "smaller"),
        (2.5, None, 1.7, "contradicted"),
        (2.5, 1.7, None, "contradicted"),
        (1.2, None, 1.7, "supported"),
        (1.5, None, 1.1, "undecided"),
    ],
)
def test_a_claim_judged_again_keeps_its_own_no_effect_and_zone(edge, no_effect, zone, word, defined):
    claim = {"id": "a", "kind": "ratio", "says": "It is larger.", "at_least": edge, "margin": "ours"}
    effect = {k: v for k, v in (("no_effect", no_effect), ("zone", zone)) if v is not None}
    criterion = criterion_of({**claim, **effect}, ("mean",), 1, names_law=False)
    allowed = Region(low=edge)
    finding = judge_sample("ratio", LARGER, allowed, 5, criterion, criterion.null(1.0, allowed, ratio=True))
    assert finding.verdict == word
    row = {**asdict(stated_finding(finding, claim, criterion, 1)), "seeds": json.dumps(finding.seeds)}
    names = dict(defined)
    exec(notebook_lab.JUDGE.partition("claim = verdicts_with_seeds")[0], names)
    assert names["judge"](row | effect)["verdict"] == word


def test_the_cell_has_what_claims_say_of_no_effect(facts, results, verdicts):
    verdict = next(v for v in verdicts if v.kind in notebook_lab.KINDS_BY_INTERVAL and v.seeds)
    spec = f"report: [{{claims: [{{id: {verdict.claim.partition('[')[0]}, zone: 1.1, no_effect: 2}}]}}, &a [*a]]"
    assert own_effects(spec, [verdict.claim, "b"]) == {verdict.claim: {"no_effect": 2.0, "zone": 1.1}}
    for without in ("", "lnlab: 2", "a: [", "{}"):
        assert own_effects(without, [verdict.claim]) == {}
    parts = build_parts(facts, results, verdicts)
    text = notebook_text(replace(facts, spec=spec), [verdict], [DrawnPart(part, (), ()) for part in parts[:1]])
    (cell,) = [c.source for c in nbformat.reads(text, as_version=4).cells if "def judge(" in c.source]
    assert cell.count("judge(claim") == 2
    assert 'judge(claim | no_effects.get(claim["claim"], {}))' in cell
    assert "'zone': 1.1" in cell
    compile(cell, "cell", "exec")
