"""What the commands that compute nothing say of a run."""

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lnlab.app.formats import format_quantity
from lnlab.execute import meta
from lnlab.execute.program import build_model

pytestmark = pytest.mark.usefixtures("ran")


def test_check_says_ok_once_a_profile(lnlab, console):
    console("check", "tiny.yaml")
    (one,) = lnlab("check", "tiny.yaml", "--profile", "one", "--json").json
    counts = {"profile": "one", "tuning_runs": 0, "runs": 2, "models": 2, "claims": 2}
    assert one.items() >= counts.items()
    assert one.keys() - counts.keys() == {"spec", "note", "notes", "review"}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("  real: {", "  real: {model.droput: 0.1, "),
        ("profiles:\n", "methods: {A: {model.droput: 0.1}}\nprofiles:\n  more: {sweep: [{method: [A]}]}\n"),
    ],
)
def test_check_looks_at_profiles_that_nobody_asked_for(lnlab, console, tmp_path, right, wrong):
    path = tmp_path / "x.yaml"
    path.write_text(Path("tiny.yaml").read_text().partition("report:")[0] + "profiles:\n  real: {seeds: 1}\n")
    path.write_text(path.read_text().replace(right, wrong))
    assert console("check", path).code == 2
    assert lnlab("check", path, "-s", "seeds=2").code == (2 if "real: {model" in wrong else 0)


def test_several_specs_are_checked_at_once_and_all_their_problems_told(lnlab, tmp_path):
    wrong, broken = tmp_path / "wrong.yaml", tmp_path / "broken.yaml"
    wrong.write_text(Path("tiny.yaml").read_text().replace("heads: 2", "heads: 3"))
    broken.write_text("lnlab: [1")
    said = lnlab("check", broken, wrong, "tiny.yaml")
    assert said.code == 2
    assert [line.split(": ")[0] for line in said.out.splitlines()] == ["tiny.yaml"] * 4  # three profiles and a note
    told = said.err.splitlines()
    assert told[0].startswith(f"{broken}:")
    assert all(line.startswith(f"{wrong}:") for line in told[1:])


def test_a_profile_that_is_wrong_is_told_once(lnlab, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(Path("tiny.yaml").read_text() + "  odd: {model.heads: 3}\n  good: {seeds: 7}\n")
    said = lnlab("check", path)
    assert said.code == 2
    (line,) = said.err.splitlines()
    assert line.startswith(f"{path}:{len(path.read_text().splitlines()) - 1}:")


def test_models_that_differ_in_what_acts_on_them_are_built_once_and_all_of_it_is_tried(lnlab, tmp_path, monkeypatch):
    built = []
    monkeypatch.setattr(meta, "build_model", lambda *parts: built.append(parts) or build_model(*parts))
    path = tmp_path / "x.yaml"
    clamps = [f"{{kind: clamp, where: {{tensor: out, layer: {layer}}}}}" for layer in (1, 7, 2, 8)]
    sweep = f"placement: [post, pre], interventions: [{', '.join(f'[{clamp}]' for clamp in clamps)}]"
    path.write_text(Path("tiny.yaml").read_text().replace("placement: [post, pre]", sweep).partition("report:")[0])
    said = lnlab("check", path)
    assert said.code == 2
    assert re.findall(r"placement=(\w+).*has layer (\d)", said.err) == [
        (placement, layer) for placement in ("post", "pre") for layer in ("7", "8")
    ]
    assert len(built) == 2


def test_plan_explains_what_is_there_and_what_is_missing(console, tmp_path):
    """Cost first, then what is held; variants and claims where they are asked for. Nothing is written."""
    console("plan", "tiny.yaml")
    console("plan", "tiny.yaml", "-s", "seeds=5", "--workers", "2")
    said = console("plan", "tiny.yaml", "--store", tmp_path / "empty")
    assert [line.partition(":")[0] for line in said.out.splitlines()[:3]] == ["time", "memory", "compute"]
    console("plan", "tiny.yaml", "-v", "--store", tmp_path / "empty")
    assert not (tmp_path / "empty").exists()


def test_plan_in_json_agrees_with_the_closed_form(lnlab):
    plan = lnlab("plan", "tiny.yaml", "-s", "seeds=5", "--json").json
    assert plan["runs"] == plan["units"]["all"] == 10
    assert plan["measurements"] == {"needed": 10, "distinct": 10, "missing": 4}
    assert plan["flops"]["missing"] == pytest.approx(0.4 * plan["flops"]["all"])
    assert plan["claims"][0] == {"id": "post_above_pre", "kind": "ratio", "primary": False, "n": 5}
    assert plan["seconds"] > 0
    assert plan["pins"] == []


CURVED = ("-s", "probes=[{kind: hessian_spectrum, batches: 2, draws: 1, steps: 8}]", "-s", "seeds=2")


@pytest.mark.parametrize("machine", [2**40, 6e8, 2e8])
def test_plan_says_whether_graphs_are_kept_and_for_how_many_workers_there_is_memory(
    console, weighed, monkeypatch, machine
):
    monkeypatch.setattr("lnlab.execute.machine.machine_memory", lambda: int(machine))
    console("plan", weighed, *CURVED, "--workers", "2", of="memory: ")


def test_what_the_machine_has_no_memory_for_is_not_begun_and_plan_tells_it_of_the_largest_gpu(
    console, weighed, monkeypatch
):
    monkeypatch.setattr("lnlab.execute.machine.machine_memory", lambda: 2**27)
    assert "134 MB" in console.refused("run", weighed, *CURVED)
    monkeypatch.setattr("lnlab.execute.machine.ThisMachine.gpus", lambda *_: (10**8, 2 * 10**8))
    assert "200 MB" in console("plan", weighed, *CURVED, "--workers", "2", of="largest GPU").out


READS = ("-s", "norm=none", "-s", "init=dt_fixup", "-s", "seeds=1")
WEIGHED = ("-s", "probes=[{kind: parameter_size}]", *READS)
"""Initial states that read data, and of which nothing is measured that takes a pass of the model."""


@pytest.fixture
def weighed(tiny):
    """A spec that asks for nothing but parameters."""
    tiny.write_text(tiny.read_text().partition("report:")[0])
    return tiny


def test_a_plan_shows_the_data_that_inits_read(lnlab, console, weighed):
    console("plan", weighed, *WEIGHED, of="init ")
    found = lnlab("plan", weighed, *WEIGHED, "--json").json["data_passes"]
    assert found == [{"init": "dt_fixup", "batches": None, "times": 2}]
    assert lnlab("plan", weighed, "--json").json["data_passes"] == []


def test_what_takes_no_pass_of_the_model_is_planned_and_run_all_the_same(lnlab, weighed):
    said = lnlab("plan", weighed, *WEIGHED, "--json")
    assert (said.code, said.json["flops"]["all"]) == (0, 0)
    assert said.json["seconds"] > 0
    assert said.json["units"] == {"all": 2, "missing": 2}
    assert lnlab("run", weighed, *WEIGHED, "-w", "1").code == 0
    more = (*WEIGHED[:-1], "seeds=2")
    assert lnlab("plan", weighed, *more, "--json").json["seconds"] > 0
    assert lnlab("run", weighed, *more, "-w", "1", "--json").json["computed"] == 2


def test_an_init_that_lacks_its_placement_is_one_line_with_its_remedy(console, weighed):
    console.refused("check", weighed, "-s", "init=admin")


def test_status_counts_by_experiment_and_knows_a_spec_by_its_text(lnlab, console, golden, ran, tmp_path):
    """Its last line is the size of the store."""
    *said, size = lnlab("status").out.splitlines()
    golden(said)
    held = [path.stat().st_size for path in Path(".lnlab").rglob("*") if path.is_file()]
    assert size == f"{Path('.lnlab').absolute()}: {len(held)} files, {sum(held) / 1000:.3g} kB"
    (found,) = lnlab("status", "tiny.yaml", "--profile", "one", "--json").json
    assert found["runs"] == {"finished": 2}
    assert found["missing"] == {}
    copied = tmp_path / "copied.yaml"
    copied.write_bytes(Path("tiny.yaml").read_bytes())
    assert lnlab("status", copied).out == lnlab("status", "tiny.yaml").out
    copied.write_text(copied.read_text() + "# and a remark\n")
    console.refused("status", copied)


def test_status_tells_of_damage_and_a_run_heals_it(lnlab, console, tiny):
    lnlab("run", "tiny.yaml", "-w", 1)
    victim = sorted((tiny.parent / ".lnlab" / "trajectories").glob("*/*/*/sites.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:-9])
    said = lnlab("status")
    assert said.code == 0
    assert "5 finished, 1 missing" in said.out
    assert "damaged" in said.out
    assert lnlab("run", "tiny.yaml", "-w", 1, "--json").json["computed"] == 1
    (path,) = (tiny.parent / ".lnlab/plans").glob("*/plan.json")
    path.write_bytes(path.read_bytes()[:-9])
    assert console("status", of="damaged").out.startswith(f"damaged: {path} ")
    again = lnlab("run", "tiny.yaml", "-w", 1, "--json")
    assert (again.code, again.json["computed"]) == (0, 0)
    assert lnlab("status").out.startswith("tiny: 6 runs: 6 finished\n")


def test_an_empty_store_says_so(lnlab, tmp_path):
    assert lnlab("status", "--store", tmp_path).out == f"{tmp_path}: empty\n"
    assert lnlab("status", "--store", tmp_path, "--json").json == []


def test_report_writes_page_notebook_figures_tables_of_the_last_run(lnlab, tmp_path):
    said = lnlab("report", "--out", tmp_path / "out")
    assert said.code == 0, said.err
    assert said.out == f"{tmp_path}/out/index.html\n"
    assert {"index.html", "notebook.ipynb", "figures", "tables", "data"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }
    named = lnlab("report", "tiny.yaml", "--out", tmp_path / "other", "--json")
    assert f"{tmp_path}/other/index.html" in named.json
    page = (tmp_path / "out" / "index.html").read_text()
    assert "A tiny experiment" in page
    assert page == (tmp_path / "other" / "index.html").read_text()


def test_list_shows_every_kind_with_parameters_and_formula(lnlab):
    entries = lnlab("list", "--json").json
    assert {"norm", "placement", "probe", "claim", "section", "corpus"} <= {entry["kind"] for entry in entries}
    assert all(entry["summary"] for entry in entries)
    (rms,) = [entry for entry in entries if (entry["kind"], entry["name"]) == ("norm", "rms")]
    assert rms["parameters"] == [{"name": "eps", "required": False, "default": 1e-06}]
    line = next(line for line in lnlab("list", "norm").out.splitlines() if line.startswith("norm rms("))
    assert "eps=1e-06" in line


def test_a_piped_list_has_a_line_for_each_piece(lnlab):
    pieces = [re.match(r"(\S+) ([^\s(:]+)[(:]", line).groups() for line in lnlab("list").out.splitlines()]
    assert pieces == [(entry["kind"], entry["name"]) for entry in lnlab("list", "--json").json]


def test_list_of_one_piece_shows_all_that_it_says_of_itself(lnlab, console):
    lines = console("list", "placement", "mix").out.splitlines()
    assert lines[-1].split() == ["share", "number", "in", "[0,", "1]", "0.25"]
    shown = lnlab("list", "placement", "mix", "--json").json
    assert (shown["name"], shown["parameters"][0]["default"]) == ("mix", 0.25)
    assert shown["description"].splitlines() == lines[2:5]
    console.refused("list", "placement", "mxi")
    console.refused("list", "nrom")


def test_list_finds_the_probe_of_a_measured_quantity(lnlab, console):
    console("list", "quantity", "hidden_norm_sq")
    found = lnlab("list", "quantity", "gradient_norm", "--json").json
    assert (found["kind"], found["name"], found["measures"]) == ("probe", "gradient_norm", "gradient_norm")
    console.refused("list", "quantity", "gradientnorm")


def test_list_of_corpora_has_labelled_sentences_and_running_text_and_says_whose_each_is(lnlab, console):
    console("list", "corpus", "iwslt14")
    assert lnlab("list", "corpus", "iwslt14", "--json").json["citation"]
    assert "licence" not in lnlab("list", "placement", "mix", "--json").json
    listed = {(row["kind"], row["name"]) for row in lnlab("list", "corpus", "--json").json}
    assert listed >= {("corpus", "iwslt14"), ("labelled_corpus", "labelled_table"), ("text_corpus", "text")}
    assert "labelled_corpus labelled_table" in lnlab("list", "corpus", "labelled_table").out


@pytest.mark.nightly
def test_list_prints_schema_and_reference(lnlab):
    schema = lnlab("list", "--schema").json
    Draft202012Validator.check_schema(schema)
    assert lnlab("list", "--reference").out.startswith("# ")


def test_data_list_says_what_is_generated_and_what_is_absent(lnlab, console, workdir):
    rows = {row["name"]: row for row in lnlab("data", "list", "--json").json}
    assert rows["toy_german_english"]["state"] == "generated"
    assert rows["multi30k"]["state"] == "absent"
    assert rows["multi30k"]["fetchable"]
    table = lnlab("data", "list").out
    assert format_quantity(rows["multi30k"]["size"], "B") in table
    console.refused("data", "fetch", "toy_german_english")


def test_a_section_selects_decoders_without_cross_attention(lnlab, tiny):
    where = "{stack: decoder, tensor: w2, cross_attention: false}"
    text = tiny.read_text().replace("where: {stack: decoder, tensor: w2}", f"where: {where}")
    tiny.write_text(text.replace("seeds: 3\n", "seeds: 3\ndecoder: {cross_attention: false}\n"))
    said = lnlab("check", "tiny.yaml")
    assert (said.code, said.err) == (0, "")


def test_sites_are_those_of_the_models_of_a_spec(lnlab, tiny):
    found = lnlab("list", "site", "tiny.yaml", "--json")
    assert found.code == 0, found.err
    rows = found.json
    table = next(r for r in rows if r["stack"] == "encoder" and r["sublayer"] == "feed_forward" and r["tensor"] == "w2")
    assert table["layer"] == "1-2"
    assert "gradient_norm" in table["quantities"]
    assert "cross_attention" not in {row["sublayer"] for row in rows if row["stack"] == "encoder"}


def test_it_is_a_table_with_heads_as_an_index(lnlab, tiny):
    text = tiny.read_text()
    probe = "  - {kind: gradient_norm, at: init, batches: 1}\n"
    tiny.write_text(text.replace(probe, f"{probe}  - {{kind: attention_logits, at: init}}\n"))
    found = lnlab("list", "site", "tiny.yaml")
    assert found.code == 0, found.err
    heads = next(line.split() for line in found.out.splitlines() if "logits" in line)
    assert heads[:5] == ["encoder", "1-2", "self_attention", "logits", "1-2"]


@pytest.mark.parametrize(("arguments", "told"), [((), "name a spec"), (("no.yaml",), "no.yaml")])
def test_without_a_spec_there_is_no_model(lnlab, arguments, told):
    found = lnlab("list", "site", *arguments)
    assert found.code == 2
    assert told in found.err
