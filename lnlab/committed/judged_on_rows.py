"""The claims of a spec as it stands today, judged on the rows of a report."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab import __version__
from lnlab.claims.judging import judge_all
from lnlab.claims.look_book import LookBook
from lnlab.committed.commits import head_commit
from lnlab.committed.evidence import renewed_evidence
from lnlab.committed.frozen import frozen_path, with_frozen_criteria
from lnlab.committed.judging import equal_verdicts, locate_claim_problem
from lnlab.compile.decisions import decision_from_json, decisions_to_json
from lnlab.compile.digests import plan_identity
from lnlab.compile.plan import compile_front
from lnlab.compile.resolve.resolve import setting_namer
from lnlab.errors import ReportError
from lnlab.execute.model_graphs import model_graphs
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest
from lnlab.printable import shown_path
from lnlab.registry import Flawed
from lnlab.report.default_sections import with_default_sections
from lnlab.report.folder import data_files, packs_in, parse_report, store_files
from lnlab.report.question import claims_with_choices, question_fields, resolved_probes
from lnlab.report.referee import with_review
from lnlab.report.same_question import find_spec, refuse_other_question, with_origin
from lnlab.report.words.wording import count_noun
from lnlab.select.axes import axes_frame
from lnlab.specfile.columns import EVALUATION
from lnlab.specfile.load import load_spec, parse_spec, read_spec_text
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


_Setting = Mapping[str, Json]
PLANNED_COLUMNS = ("run", "trajectory", "steps", "variant", "seed", "setting")


def judge_report(
    folder: Path,
    into: Path,
    spec: Path | None,
    known: "Registries",
    *,
    replacing: bool | None = None,
    own_text: bool = False,
) -> tuple[dict[str, bytes], str, str]:
    """Judge the claims of a spec on the rows of a report.

    All that the report holds stays in it, also what the spec no longer asks for.

    Args:
        folder: the report.
        into: the folder into which they will be written, the same or another.
        spec: its path. None means the file that the report names, or else the text in the report.
        known: the registries of both wings.
        replacing: whether ``into`` may hold the report of another question. None means a copy for comparison, which
            says the same as the report in its own folder.
        own_text: whether the text in the report is judged, whatever its file says today.

    Returns:
        its files ``data/*`` as they are now, the spec as the page names it, and in words for the end of a line how many
        claims were judged and how many runs are absent.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the report cannot be read, or was measured by other probes.
        LabError: claims that no rows could answer, or something is chosen that these runs did not decide.
    """
    before = store_files(folder)
    facts, results, verdicts = parse_report(before, folder)
    file = spec if spec is not None or own_text else find_spec(folder, facts)
    path = facts.path if spec is None else shown_path(spec)
    if spec is not None:
        document = load_spec(spec)
    elif file is not None:
        document = parse_spec(read_spec_text(file), file)
    else:  # only the text in the report is at hand
        document = parse_spec(facts.spec, Path(facts.path))
    decisions = [decision_from_json(entry) for entry in facts.decisions]
    front = compile_front(document, known, profile=facts.profile, overrides=facts.overrides, decisions=decisions)
    _refuse_other_probes(resolved_probes(front.experiment, known), facts.probes, folder, known)
    claims = claims_with_choices(front.experiment, zip(front.experiment.claims, front.claims, strict=True))
    settings = [(variant.setting, point) for variant, point in zip(front.variants, front.points, strict=True)]
    matched = match_runs(results, settings, front.seeds, setting_namer(known))
    absent = matched.runs.join(results.runs, on="run", how="anti").height
    evidence = renewed_evidence(claims, folder, facts.profile, results.evidence)
    asked = replace(matched, evidence=evidence)
    overlays = facts.profile, facts.overrides
    book = LookBook.from_json(facts.looks, commit=head_commit(folder))
    judged = judge_all(claims, asked, lambda issue: locate_claim_problem(issue, document, *overlays), (), book)
    last = {verdict.claim: verdict for verdict in verdicts}
    judged = [
        replace(last[one.claim], measure=one.measure, quantity=one.quantity)
        if one.claim in last and equal_verdicts(last[one.claim], one)  # only rounding is new
        else one
        for one in judged
    ]
    fields = question_fields(front.experiment, front.sections, known, front.grid_seeds, profile=facts.profile)
    if any(decision.grid for decision in front.decisions):
        fields["decisions"] = tuple(decisions_to_json(front.decisions))
    # Where every setting has runs in this report, its models are those that the report has drawn.
    fields["models"] = model_graphs(front.sections, settings, known, {} if absent else facts.models)
    if document.text != facts.spec:  # the digest of an unchanged text stays
        question = plan_identity(facts.name, document.text.encode(), *overlays, ())
        fields |= {"spec": document.text, "digest": digest([*question, "runs", sorted(results.runs["run"])])}
    new = replace(facts, **{**fields, "path": path, "looks": book.to_json()})
    new = with_default_sections(new, asked, judged, claims)
    new = with_review(new, asked, judged, claims, folder)
    if file is not None and frozen_path(file).is_file():
        new = with_frozen_criteria(new, file, known)
    elsewhere = into.resolve() != folder.resolve()
    if replacing is not None:
        new = replace(new, version=__version__)
        if elsewhere and not replacing:
            refuse_other_question(into, new, file)
        if elsewhere or spec is not None:
            new = with_origin(into, new, file)
    data = data_files(new, asked, judged, claims, packs_in(before), folder)
    parts = [f"; {path}: {count_noun(len(judged), 'claim')} judged"]
    parts += [f"{count_noun(absent, 'run')} not in the report"] if absent else []
    return data, path, ", ".join(parts)


def match_runs(
    results: Results,
    settings: Sequence[tuple[_Setting, _Setting]],
    seeds: Sequence[Iterable[int]],
    name: Callable[[_Setting], str],
) -> Results:
    """The results of the run of every setting and seed, in this order. One that is absent has a new key and no status.

    Args:
        results: the tables of the report.
        settings: resolved, each with the values of its axes.
        seeds: of each setting.
        name: gives the name of a resolved setting. Equal settings have equal names.
    """
    stored = results.runs.select("variant", "setting").unique("variant", keep="first", maintain_order=True).iter_rows()
    variants_by_name = {name(json.loads(text)): (variant, text) for variant, text in stored}
    runs_of_data = results.runs.select("variant", "seed", "run").iter_rows()
    runs_by_variant = {(variant, seed): run for variant, seed, run in runs_of_data}
    points: dict[str, _Setting] = {}
    planned = []
    for (setting, point), own_seeds in zip(settings, seeds, strict=True):
        setting_name = name(setting)
        variant, text = variants_by_name.get(setting_name) or (digest(["absent", setting_name]), canonical(setting))
        points[variant] = point
        for seed in own_seeds:
            run = runs_by_variant.get((variant, seed))
            run = run or digest(["absent", setting_name, seed])
            planned.append((run, run, setting["train"]["steps"], variant, seed, text))
    # The rows of the data, in the order of the plan. An absent run has what the plan says, and nothing else.
    schema = {word: results.runs.schema[word] for word in PLANNED_COLUMNS}
    plan = pl.DataFrame(planned, schema=schema, orient="row")
    joined = plan.join(results.runs, on="run", how="left", maintain_order="left", suffix="_stored")
    filled = [pl.coalesce(f"{word}_stored", word).alias(word) for word in PLANNED_COLUMNS if word != "run"]
    runs = joined.with_columns(filled).select(results.runs.columns)
    axes = axes_frame(points, runs.select("run", "variant").iter_rows())
    tables = results.tables
    if not set(results.runs["run"]) <= set(runs["run"]):
        in_plan = pl.col("run").is_in(runs["run"].implode())
        tables = {name: table.filter(in_plan) for name, table in tables.items()}
    return replace(results, runs=runs, axes=axes, tables=tables)


def _refuse_other_probes(
    today: Sequence[Mapping[str, Json]], before: Sequence[Mapping[str, Json]], folder: Path, known: "Registries"
) -> None:
    """Refuse rows of probes that had other parameters or moments, which would pass as those that the spec asks for.

    A kind of probe in one of both alone does no harm: no row of it is there, or none is asked for.

    Raises:
        ReportError: a kind in both has other probes.
    """

    def by_kind(probes: Sequence[Mapping[str, Json]]) -> dict[str, set[str]]:
        texts: dict[str, set[str]] = {}
        for probe in probes:
            choice = {name: value for name, value in probe.items() if name not in ("at", "grid")}
            with suppress(Flawed):  # of a kind, or with a parameter, that there no longer is
                choice = known["probe"].resolve(choice)  # a parameter that came since means what was done without it
            kind = f"{choice['kind']} on {choice['split']}" if choice["kind"] == EVALUATION else str(choice["kind"])
            texts.setdefault(kind, set()).add(canonical([choice, probe.get("at")]))
        return texts

    asked, measured = by_kind(today), by_kind(before)
    issues = [
        Issue(
            "differs", str(folder), f"its probe {kind} had other parameters or moments", "run the spec, or measure so"
        )
        for kind in sorted(asked.keys() & measured.keys())
        if asked[kind] != measured[kind]
    ]
    if issues:
        raise ReportError(*issues)
