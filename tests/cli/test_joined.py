"""``lnlab report SPEC --rows-from``: one page from the tables of several reports, as from a store with all runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.claims.criterion_digest import claim_criterion
from lnlab.cli import main
from lnlab.record.held_rows import is_drawable
from lnlab.record.joined_reports import join_reports
from lnlab.record.registries import load_registries

BASE = """\
lnlab: 2
title: {title}
question: Is the gradient of the last layer larger in Post-LN?
task: {{kind: translation, corpus: {{kind: toy_german_english, train: 200}}, vocabulary: 200, batch_tokens: 64}}
model: {{kind: encoder_decoder, layers: 2, d_model: 16, heads: 2, d_ff: 32}}
placement: post
seeds: {seeds}
sweep: {sweep}
probes:
  - {{kind: gradient_norm, at: init, batches: 1}}
  - {{kind: hidden_norm, at: init, batches: 1}}
report:
  - {{kind: depth_profile, quantity: gradient_norm, where: {{stack: decoder, tensor: w2{where}}}}}
{sections}claims:
{claims}"""
OF = "quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post"


def claim(name, layers="", quantity=OF, more=""):
    return (
        f"  - {{id: {name}, says: The gradient of the last layer is larger in Post-LN., kind: ratio, at_least: 1.1,\n"
        f"     of: {{{quantity}{layers}}}, to: {{placement: pre}}{more}}}\n"
    )


def spec(title, sweep, claims, seeds=5, sections="", where=""):
    return BASE.format(title=title, sweep=sweep, claims=claims, seeds=seeds, sections=sections, where=where)


SHALLOW = "[{placement: [post, pre]}]"
DEEP = "[{placement: [post, pre], model.layers: [3]}]"
BOTH = "{shallow: {placement: [post, pre], model.layers: [2]}, deep: {placement: [post, pre], model.layers: [3]}}"
MERGED = spec(
    "Both depths",
    BOTH,
    claim("larger", ", model.layers: 2") + claim("larger_if_deep", ", grid: deep"),
)
SITE = "stack: decoder, sublayer: feed_forward, tensor: sum"
HIDDEN = f"quantity: hidden_norm, {SITE}, layer: last, placement: post"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Two reports, of which the first was judged on three seeds before, and the store that has the runs of both."""
    root = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for seeds in (3, 5):
            Path("shallow.yaml").write_text(spec("Two layers", SHALLOW, claim("larger"), seeds))
            assert main(["run", "shallow.yaml", "-q"]) == 0
        hidden = "  - {kind: depth_profile, quantity: hidden_norm, where: {" + SITE + "}}\n"
        Path("deep.yaml").write_text(spec("Three layers", DEEP, claim("larger"), sections=hidden))
        assert main(["run", "deep.yaml", "-q"]) == 0
        for name in ("shallow", "deep"):
            assert main(["report", f"{name}.yaml", "-q"]) == 0
        Path("stored.yaml").write_text(MERGED)
        assert main(["run", "stored.yaml", "-q"]) == 0
        assert main(["report", "stored.yaml", "-q"]) == 0
    return root


@pytest.fixture
def reports(measured, tmp_path, monkeypatch):
    """The reports in a working folder without a store, beside the spec of both."""
    shutil.copytree(measured / "reports", tmp_path / "reports")
    for name in ("shallow.yaml", "deep.yaml"):
        shutil.copyfile(measured / name, tmp_path / name)
    (tmp_path / "both.yaml").write_text(MERGED)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports"


FROM = ("report", "both.yaml", "--rows-from", "reports/shallow", "--rows-from", "reports/deep")


@pytest.fixture(scope="module")
def joined_once(measured, tmp_path_factory):
    """The page of both reports, which must not change."""
    root = tmp_path_factory.mktemp("joined")
    shutil.copytree(measured / "reports", root / "reports")
    (root / "both.yaml").write_text(MERGED)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main([*FROM, "-q"]) == 0
    return root / "reports" / "both"


@pytest.fixture
def joined(joined_once, reports):
    """``reports``, with the page of both."""
    shutil.copytree(joined_once, reports / "both")
    return reports


def table(folder, name):
    return pl.read_parquet(folder / "data" / f"{name}.parquet")


def looks_of(folder):
    facts = json.loads((folder / "data/experiment.json").read_text())
    return {name: [(look["look"], look["n"]) for look in looks] for name, looks in facts["looks"].items()}


def verdicts(folder):
    return {row["claim"]: row for row in table(folder, "verdicts").iter_rows(named=True)}


def test_rows_and_verdicts_are_those_of_a_store_with_all_runs(lnlab, reports):
    said = lnlab(*FROM)
    assert (said.code, said.out) == (0, "reports/both/index.html\n"), said.err
    rows = table(reports / "both", "sites").filter(quantity="gradient_norm").drop("trajectory", strict=False)
    stored = table(reports / "stored", "sites").filter(quantity="gradient_norm").drop("trajectory", strict=False)
    assert not rows.is_empty()
    assert sorted(rows.rows(), key=repr) == sorted(stored.rows(), key=repr)
    mine, oracle = verdicts(reports / "both"), verdicts(reports / "stored")
    assert mine.keys() == oracle.keys() == {"larger", "larger_if_deep"}
    numbers = ("verdict", "estimate", "n", "seeds")
    assert [[mine[name][n] for n in numbers] for name in mine] == [[oracle[name][n] for n in numbers] for name in mine]


def test_a_claim_keeps_its_looks_whatever_it_and_its_runs_are_called_now(lnlab, joined):
    assert looks_of(joined / "shallow") == {"larger": [(1, 3), (2, 5)]}
    assert looks_of(joined / "both") == {"larger": [(1, 3), (2, 5)], "larger_if_deep": [(1, 5)]}
    judged = verdicts(joined / "both")
    assert [judged[name]["look"] for name in ("larger", "larger_if_deep")] == [2, 1]
    assert judged["larger"]["low"] == verdicts(joined / "shallow")["larger"]["low"], "the interval of the second look"


def test_a_claim_that_is_not_asked_any_more_keeps_its_looks(lnlab, reports):
    Path("both.yaml").write_text(MERGED.replace(claim("larger", ", model.layers: 2"), ""))
    assert lnlab(*FROM).code == 0
    assert verdicts(reports / "both").keys() == {"larger_if_deep"}
    assert looks_of(reports / "both") == {"larger": [(1, 3), (2, 5)], "larger_if_deep": [(1, 5)]}
    whole = Path("shallow.yaml").read_text()
    for text, name in ((whole.replace("id: larger", "id: other").replace("1.1", "1.2"), "other"), (whole, "larger")):
        Path("shallow.yaml").write_text(text)
        assert lnlab("report", "shallow.yaml", "--rows-from", "reports/shallow", "--replace").code == 0
        assert verdicts(reports / "shallow").keys() == {name}
        assert looks_of(reports / "shallow")["larger"] == [(1, 3), (2, 5)]
    assert verdicts(reports / "shallow")["larger"]["look"] == 2, "it comes back at the look that it had"


def test_the_page_is_a_report_like_any_other(lnlab, joined):
    before = {path: path.read_bytes() for path in (joined / "both").rglob("*") if path.is_file()}
    assert lnlab("report", "--from", "reports/both").code == 0
    assert {path: path.read_bytes() for path in (joined / "both").rglob("*") if path.is_file()} == before
    assert lnlab("lock", "both.yaml").code == 0
    assert lnlab("verify", "both.yaml", "--level", 1).code == 0
    again = lnlab("report", "both.yaml", "--rows-from", "reports/deep", "--rows-from", "reports/both", "--out", "twice")
    assert again.code == 0, again.err
    assert verdicts(Path("twice")) == verdicts(joined / "both"), "a run in two reports is one run"


@pytest.mark.parametrize(
    "sweep", ["{method: [two, three], placement: [post, pre]}", "{placement: [post, pre], method: [three, two]}"]
)
def test_a_claim_whose_rows_are_not_all_kept_has_its_last_verdict_whatever_its_runs_are_called_now(
    lnlab, reports, sweep
):
    """Early reports keep only what their sections draw. The names of methods are those of today's spec."""
    facts = json.loads((reports / "shallow/data/experiment.json").read_text())
    drawn = {"kind": "depth_profile", "quantity": "gradient_norm", "where": {"stack": "encoder"}}
    facts["kept"] = [{"section": drawn}]
    (reports / "shallow/data/experiment.json").write_text(json.dumps(facts))
    text = spec("Both depths", f"[{sweep}]", claim("of_two", ", method: two"), where=", method: three")
    methods = "methods: {two: {model.layers: 2}, three: {model.layers: 3}}\n"
    Path("both.yaml").write_text(text.replace("sweep:", f"{methods}sweep:"))
    said = lnlab(*FROM)
    assert said.code == 0, said.err
    last, now = verdicts(reports / "shallow")["larger"], verdicts(reports / "both")["of_two"]
    assert last["verdict"] != "not testable here"
    words = ("verdict", "estimate", "low", "high", "n", "seeds", "look")
    assert [now[word] for word in words] == [last[word] for word in words]


def test_what_one_report_keeps_is_not_said_of_the_runs_of_another(lnlab, reports):
    claims = claim("stream", ", model.layers: 3", HIDDEN) + claim("stream_if_shallow", ", model.layers: 2", HIDDEN)
    section = "  - {kind: depth_profile, quantity: hidden_norm, where: {" + SITE + ", model.layers: 2}}\n"
    Path("both.yaml").write_text(spec("Both depths", BOTH, claims, sections=section, where=", model.layers: 3"))
    for command in (FROM, ("report", "--from", "reports/both")):
        said = lnlab(*command)
        assert said.code == 1, said.err
        judged = verdicts(reports / "both")
        assert judged["stream"]["verdict"] in ("supported", "contradicted", "smaller", "undecided")
        assert judged["stream_if_shallow"]["verdict"] == "not testable here"
        assert "are not in this report's data" in judged["stream_if_shallow"]["reason"]
        assert "section 2 could not be made: rows of" in said.err


def test_runs_that_no_report_has_are_refused_together(lnlab, reports):
    refused = lnlab("report", "both.yaml", "--rows-from", "reports/shallow")
    assert refused.code == 2
    (line,) = refused.err.splitlines()
    assert "both.yaml: none of these reports has 10 runs of the spec" in line
    assert "model.layers = 3" in line
    assert "(seed 1, 2, 3, 4, 5)" in line
    command = "lnlab run both.yaml --rows-from reports/shallow"
    assert line.endswith(f"name the report that has them, or compute them with {command}")
    assert not (reports / "both").exists()


def test_two_reports_with_different_numbers_of_a_run_are_refused(lnlab, reports):
    shutil.copytree(reports / "shallow", reports / "other")
    sites = reports / "other/data/sites.parquet"
    rows = pl.read_parquet(sites)
    first = pl.int_range(pl.len()) == 0
    rows.with_columns(pl.when(first).then(pl.col("value") * 1.01).otherwise(pl.col("value"))).write_parquet(sites)
    refused = lnlab(*FROM, "--rows-from", "reports/other")
    assert refused.code == 2
    (line,) = refused.err.splitlines()
    assert "reports/other: has gradient_norm = " in line
    assert "(seed 1, step 0), otherwise than reports/shallow" in line
    runs = reports / "other/data/runs.parquet"
    rows.write_parquet(sites)
    pl.read_parquet(runs).with_columns(status=pl.lit("diverged")).write_parquet(runs)
    assert "has status = diverged of run" in lnlab(*FROM, "--rows-from", "reports/other").err
    assert not (reports / "both").exists()


def test_numbers_of_another_machine_are_the_same_numbers(lnlab, reports):
    shutil.copytree(reports / "shallow", reports / "other")
    sites = reports / "other/data/sites.parquet"
    pl.read_parquet(sites).with_columns(pl.col("value") * (1 + 1e-12)).write_parquet(sites)
    assert lnlab(*FROM, "--rows-from", "reports/other").code == 0


def test_a_report_of_an_older_lnlab_with_other_keys_of_settings_has_the_same_runs(lnlab, joined):
    older = shutil.copytree(joined / "shallow", joined / "older")
    for path in (older / "data").glob("*.parquet"):
        rows = pl.read_parquet(path)
        if "variant" in rows.columns:
            rows.with_columns(pl.col("variant").str.reverse()).write_parquet(path)
    again = lnlab("report", "both.yaml", *FROM[2:], "--rows-from", "reports/older", "--out", "again")
    assert again.code == 0, again.err
    assert verdicts(Path("again")) == verdicts(joined / "both")
    assert table(Path("again"), "runs")["variant"].equals(table(joined / "both", "runs")["variant"])
    before = looks_of(joined / "both")
    late = lnlab("report", "both.yaml", "--rows-from", "reports/deep", "--rows-from", "reports/older", "--out", "late")
    assert late.code == 0, late.err
    assert looks_of(Path("late")).keys() == before.keys()


@pytest.mark.parametrize("uncounted", [("shallow",), ("deep",), ("shallow", "deep")])
def test_reports_of_before_lnlab_counted_updates_are_joined_with_others(lnlab, joined, uncounted):
    known = table(joined / "both", "runs").select("run", "done")
    for name in uncounted:
        shutil.copytree(joined / name, joined / f"counted_{name}")
        table(joined / name, "runs").drop("done").write_parquet(joined / name / "data/runs.parquet")
    again = lnlab(*FROM, "--out", "again")
    assert again.code == 0, again.err
    assert verdicts(Path("again")).keys() == verdicts(joined / "both").keys()
    numbers = ("verdict", "estimate", "n", "seeds")
    for name, row in verdicts(Path("again")).items():
        assert [row[word] for word in numbers] == [verdicts(joined / "both")[name][word] for word in numbers]
    of_none = table(Path("again"), "runs")["done"].null_count()
    assert of_none == sum(table(joined / name, "runs").height for name in uncounted)
    beside = [word for name in uncounted for word in ("--rows-from", f"reports/counted_{name}")]
    counted = lnlab(*FROM, *beside, "--out", "counted")
    assert counted.code == 0, counted.err
    assert table(Path("counted"), "runs").select("run", "done").equals(known), "one report says how many there were"


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("both.yaml", "--from", "reports/deep"), "goes without --from"),
        (("both.yaml", "-p", "real"), "are those of the reports"),
        (("both.yaml", "-s", "seeds=3"), "are those of the reports"),
        ((), "name one spec"),
        (("both.yaml", "deep.yaml"), "name one spec"),
        (("both.yaml", "--rows-from", "absent"), "there is no such file"),
    ],
)
def test_a_command_that_means_nothing_is_refused(lnlab, reports, more, what):
    refused = lnlab("report", "--rows-from", "reports/shallow", *more)
    assert refused.code == 2
    assert len(refused.err.splitlines()) == 1
    assert what in refused.err


def test_runs_of_a_page_that_is_drawn_anew_are_not_lost_unasked(lnlab, reports):
    Path("deep.yaml").write_text(Path("shallow.yaml").read_text())
    refused = lnlab("report", "deep.yaml", "--rows-from", "reports/shallow", "--rows-from", "reports/deep")
    assert refused.code == 2
    assert "deep.yaml does not ask for 10 of its 10 runs, which would be lost" in refused.err


def test_a_claim_that_is_measured_against_the_best_of_all_is_known_while_these_are_the_same(reports):
    joined = join_reports([reports / "shallow", reports / "deep"], load_registries(()))
    claim = joined.parts[0].claims["larger"]
    best = {**claim, "of": {**claim["of"], "reference": "best"}}
    joined = replace(joined, parts=(replace(joined.parts[0], claims={"larger": best}), joined.parts[1]))
    asked = [{**best, "id": "renamed", "of": {**best["of"], "model.layers": 2}}]
    assert set(joined.before(asked, joined.parts[0].results)[0].verdicts) == {"renamed"}
    assert set(joined.before(asked, joined.results)[0].verdicts) == set(), "three layers are of the same task"


def test_a_record_in_words_of_its_own_spec_holds_for_the_runs_that_it_names(reports):
    """A record of selections names axes of its own spec; another spec may tell the same runs apart by others."""
    joined = join_reports([reports / "shallow", reports / "deep"], load_registries(()))
    post = {"selection": {"quantity": "gradient_norm", "stack": "decoder", "placement": "post"}}
    pre = {"section": {"kind": "depth_profile", "quantity": "gradient_norm", "where": {"placement": "pre"}}}
    joined = replace(joined, parts=(replace(joined.parts[0], kept_rows=(post, pre)), joined.parts[1]))
    held = joined.held(joined.results.runs)

    def drawable(where):
        section = {"kind": "depth_profile", "quantity": "gradient_norm", "where": where}
        return is_drawable(section, held, results=joined.results)

    assert drawable({"model.layers": 2, "placement": "pre"})
    assert drawable({"decoder.layers": 2, "stack": "decoder"}), "of either placement, each by its own entry"
    assert not drawable({"model.layers": 2}), "of Post-LN only the decoder is there"
    assert drawable({"model.layers": 3}), "the other report has every row"
    kept = joined.kept(joined.results.runs)
    assert not is_drawable(
        {"kind": "depth_profile", "quantity": "gradient_norm", "where": {"decoder.layers": 2, "stack": "decoder"}},
        kept,
        results=joined.results,
    )


def test_a_reference_is_the_same_where_it_is_the_same_variants(reports):
    joined = join_reports([reports / "shallow", reports / "deep"], load_registries(()))

    def outcomes(**where):
        return {"kind": "outcomes", "numbers": ["loss"], "where": {"placement": "pre", **where}}

    joined = replace(
        joined,
        parts=(
            replace(joined.parts[0], kept_rows=({"section": outcomes(reference={"placement": "post"})},)),
            joined.parts[1],
        ),
    )
    held = joined.held(joined.results.runs)
    two = {"model.layers": 2}

    def drawable(**where):
        return is_drawable(outcomes(**where), held, results=joined.results)

    assert drawable(**two, reference={"placement": "post", "same": "model.layers"})
    assert drawable(**two, reference={"placement": "post", **two})
    assert not drawable(**two, reference={"placement": "pre", **two}), "another variant"
    assert not drawable(**two, reference="best"), "three layers are of the same task"


def test_the_looks_at_another_claim_of_the_same_name_count_with_those_of_today(reports):
    """Both reports have a claim 'larger' on the same seeds; one of them is no longer asked."""
    joined = join_reports([reports / "shallow", reports / "deep"], load_registries(()))
    asked = [{**joined.parts[0].claims["larger"], "of": {**joined.parts[0].claims["larger"]["of"], "model.layers": 2}}]
    looks = joined.before(asked, joined.results)[1].looks["larger"]
    criteria = {look.criterion for look in looks}
    assert len(criteria) == 2
    assert [look.look for look in looks if look.criterion == claim_criterion(asked[0], joined.results)[0]] == [1, 3]
