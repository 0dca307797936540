"""State where the numbers of a page come from, which runs are missing, and how to make it again."""

import json
import re
from collections.abc import Mapping

import polars as pl

from lnlab.compile.decisions import decision_from_json
from lnlab.keys import Json, digest_bytes
from lnlab.report.facts import ReportFacts
from lnlab.report.page import methods
from lnlab.report.table import Grid, reader_grid
from lnlab.report.words.path_names import number_ranges
from lnlab.report.words.wording import axis_value_name, count_noun, format_short, format_value, join_words
from lnlab.seed_words import seed_word, seeds_word
from lnlab.tables import ENDED_STATUSES, Results

_MOST_FILES = 12


def partial_report_sentence(results: Results) -> str:
    """State how many runs have no result, by status. Empty if all have one. Divergence is a result."""
    counts = results.runs["status"].fill_null("not run yet").value_counts().sort("status")
    unfinished = [f"{n} {status.replace('_', ' ')}" for status, n in counts.iter_rows() if status not in ENDED_STATUSES]
    if not unfinished:
        return ""
    return f"This report is partial. Of {count_noun(results.runs.height, 'run')}, {join_words(unfinished)}."


def cited_source(facts: ReportFacts) -> str:
    """The paper with the figure, table or section that is meant, or nothing."""
    if not facts.source.get("cite"):
        return ""
    pieces = [facts.source["cite"]]
    for part in ("figure", "table"):
        if place := facts.source.get(part):  # what is described and not numbered stands as it is
            several = "s" if re.search(r" to | and |, \d", place) else ""
            pieces.append(f"{part.capitalize()}{several} {place}" if place[0].isdigit() else place)
    return ", ".join(pieces)


def provenance_pairs(facts: ReportFacts, results: Results) -> list[tuple[str, str]]:
    """Where the numbers come from, as pairs of name and value."""
    runs = results.runs
    finished, diverged = (int((runs["status"] == status).sum()) for status in ENDED_STATUSES)
    versions = [json.loads(text) for text in runs["versions"].drop_nulls().unique().sort()]
    programs = sorted({f"{name} {v[name]}" for v in versions for name in ("lnlab", "torch", "python") if name in v})
    devices = [str(d) for d in runs["device"].drop_nulls().unique().sort()]
    seeds = number_ranges(runs["seed"].to_list())
    pairs = [
        ("Spec", facts.path),
        ("Plan", facts.digest[:16]),
        ("Profile", facts.profile or ("default" if facts.path else "")),
        ("Overrides", ", ".join(facts.overrides)),
        ("Corpus", methods.corpus_names(results)),
        (seeds_word().capitalize(), seeds),
        ("Runs", f"{finished} of {runs.height} finished{f', {diverged} diverged' if diverged else ''}"),
        ("Measured by", ", ".join(programs) + (f" on {join_words(devices)}" if devices else "")),
        ("Page made by", f"lnlab {facts.version}"),
        *_start_pairs(facts.provenance),
        ("To cite", _citation(facts)),
    ]
    return [(name, value) for name, value in pairs if value]


def _start_pairs(provenance: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Where the runs were started, of a report that says so, as pairs of name and value."""
    if not provenance:
        return []
    patch = provenance.get("patch", "")
    changed = sum(line.startswith(("+", "-")) and not line.startswith(("+++", "---")) for line in patch.splitlines())
    commit = [f"commit {provenance['commit'][:12]}"] if provenance.get("commit") else []
    commit += [f"{count_noun(changed, 'line')} changed since, in data/experiment.json"] if patch else []
    files = [f"{name} ({size:,} bytes, SHA-256 {sha256[:16]})" for name, size, sha256 in provenance.get("files", ())]
    packages = [f"{name} {version}" for name, version in provenance.get("packages", {}).items()]
    return [
        ("Started by", provenance.get("command", "")),
        ("Repository", "; ".join([*commit, *filter(None, [provenance.get("note", "")])])),
        ("Files read", "; ".join([*files[:_MOST_FILES], *(["..."] if len(files) > _MOST_FILES else [])])),
        ("Packages", ", ".join(packages)),
    ]


def _citation(facts: ReportFacts) -> str:
    """How to cite the report: the question, the version that judged it, and what tells this report from others."""
    spec = f", spec {facts.path} (SHA-256 {digest_bytes(facts.spec.encode())[:16]})" if facts.path else ""
    return f"“{facts.title}”, report of lnlab {facts.version}{spec}, plan {facts.digest[:16]}"


def unfinished_runs_grid(results: Results) -> Grid | None:
    """The runs that did not finish, with their reasons, or None if all did."""
    unfinished = results.runs.filter(pl.col("status") != "finished").sort("variant", "seed")
    unfinished = unfinished.with_columns(pl.col("variant").str.slice(0, 12), pl.col("status").str.replace_all("_", " "))
    headings = {"variant": "variant", "seed": seed_word(), "status": "status", "reason": "reason"}
    return None if unfinished.is_empty() else reader_grid(unfinished, headings, "Runs that did not finish.")


def settings_grid(results: Results) -> Grid:
    """Every path of the resolved settings with the values it takes."""
    texts = methods.values_in_words(methods.settings_of_variants(results))
    rows = tuple(((path, False), (text, False)) for path, text in sorted(texts.items()))
    return Grid("All settings of all runs, with defaults.", ("path", "value"), rows)


def decision_grid(facts: ReportFacts) -> Grid | None:
    """What was chosen on tuning seeds, and from which candidates, or None if nothing was."""
    if not facts.decisions:
        return None
    rows = []
    for decision in map(decision_from_json, facts.decisions):
        about = join_words(axis_value_name(axis, value, format_value(value)) for axis, value in decision.about.items())
        # of each candidate the score, a median over the tuning seeds
        scores = ((c.value, "diverged" if c.score is None else format_short(c.score)) for c in decision.candidates)
        candidates = f"{', '.join(f'{format_value(value)}: {score}' for value, score in scores)} ({decision.statistic})"
        why = f"{decision.reason[0].upper()}{decision.reason[1:]}."
        seeds = number_ranges(decision.seeds)
        of_grids = f"{about}; " if about and decision.grid else about
        of_grids += f"grid {join_words(decision.grid)}" if decision.grid else ""
        rows.append((decision.path, of_grids or "every run", format_value(decision.value), why, candidates, seeds))
    grid_rows = tuple(tuple((cell, False) for cell in row) for row in rows)
    return Grid("Chosen on tuning seeds.", ("what", "for", "chosen", "why", "candidates", "tuning seeds"), grid_rows)


def command_lines(facts: ReportFacts) -> str:
    """The commands that make the report again. For measurements from Python they redraw the page from its tables."""
    if not facts.path:
        return f"lnlab report --from {_quoted(facts.name)} --single-file"
    words = " ".join(map(_quoted, facts.command))
    return f"lnlab run {words}\nlnlab report {words}"


def _quoted(word: str) -> str:
    """A word as a shell reads it."""
    return word if re.fullmatch(r"[\w./:=+@,%-]+", word) else "'" + word.replace("'", "'\\''") + "'"
