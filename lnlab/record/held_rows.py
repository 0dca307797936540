"""Which rows a report's data certainly contain, and whether a claim or a section needs others.

A report keeps all rows of the quantities that its spec names, and its record is their names. It also names sections of
which it keeps only what they draw: those of long curves that no claim reads, and those that draw more than they name.
Earlier reports kept only rows that their sections and claims read. A selection is *covered* there if it narrows one of
which every row is in the data. Other rows may be missing without a trace, so nothing is concluded from them.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from lnlab.claims.claim_scope import selections_of_claim
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed
from lnlab.report.facts import COMMON_FIELDS
from lnlab.report.kept_rows import has_quantities, quantities_of_section
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.select.references import NoReference, reference_variants
from lnlab.select.select import runs_with
from lnlab.select.selection import Conditions, parse_selection, value_list
from lnlab.select.settings import NothingSelected
from lnlab.specfile.references import REFERENCE
from lnlab.specfile.seeds import parse_seeds
from lnlab.tables import Results

_Section = Mapping[str, Json]
_Entry = Mapping[str, Json]
COMPLETE_SECTIONS = ("candidates", "density", "depth_profile", "heatmap", "law_plot", "size_plot", "small_multiples")
"""Kinds of sections that keep every row of their selection. Others thin lines or keep last numbers only."""
ROWLESS_SECTIONS = ("architecture", "causal_graph", "evidence")
"""Kinds of sections that read settings or verdicts alone, which every report has."""
TEXT_SECTIONS = ("translations",)
"""Kinds of sections that read texts, of which a report keeps those that it shows."""
DISPLAY_PARAMETERS = (
    "lines",
    "laws",
    "between",
    "bins",
    "inset",
    "unit",
    "width",
    "statistics",
    "published",
    "guesses",
    "across",
    "band",
    "theory",
    "exponents",
    "matrix",
    *COMMON_FIELDS,
)
"""Parameters of sections that change how rows are drawn, and not which."""


def section_selections(section: _Section) -> list[Conditions]:
    """The selections that a section draws. Empty if its kind has other keys for what it reads."""
    if section["kind"] == "candidates":  # each keeps every loss that decides whether its runs have converged
        return [{"quantity": "converged", **candidate["where"]} for candidate in section["candidates"]]
    if isinstance(section.get("quantity"), str):
        return [{"quantity": section["quantity"], **(section.get("where") or {})}]
    return list(selections_of_claim(section)) if section.get("of") else []


def with_comparators(results: Results, where: Conditions) -> Conditions | None:
    """A selection with the variants themselves in place of its ``reference``, whatever words name them.

    None without a reference, and where nothing is what it names.
    """
    if where.get(REFERENCE) is None:
        return None
    try:
        against = reference_variants(results, where[REFERENCE])
        read = runs_with(results, parse_selection(where).setting)["variant"].unique().sort()
    except (NoReference, NothingSelected):
        return None
    return {**where, REFERENCE: [[variant, sorted(against[variant])] for variant in read]}


def kept_quantities(entries: Iterable[Mapping[str, Json]]) -> set[str]:
    """The quantities of which all rows are in the data."""
    return {entry["quantity"] for entry in entries if "quantity" in entry}


def complete_selections(entries: Iterable[Mapping[str, Json]]) -> list[Conditions]:
    """The selections of which every row is in the data."""
    complete: list[Conditions] = []
    for entry in entries:
        section = entry.get("section")
        if section is None:
            complete.append(entry.get("selection", entry))
        elif section["kind"] in COMPLETE_SECTIONS:
            own: Conditions = {"seed": entry["seeds"]} if "seeds" in entry else {}
            complete += [{**own, **selection} for selection in section_selections(section)]
    return complete


def entries_of_runs(
    entries: Sequence[_Entry], results: Results, selection: Conditions
) -> list[tuple[Sequence[_Entry], Conditions]]:
    """The record of kept rows as it holds for some of the selected runs, with the selection of these runs alone.

    A report that was drawn from the tables of several says which rows it has of which runs: ``runs``, from variants to
    seeds, with ``rows``, the entries that hold for these runs. Runs of the same parts stand together.
    """
    parts = [entry for entry in entries if "runs" in entry]
    common = [entry for entry in entries if "runs" not in entry]
    if not parts:
        return [(common, selection)]
    of_parts = [
        {(variant, seed) for variant, seeds in part["runs"].items() for seed in parse_seeds(seeds)} for part in parts
    ]
    seeds_of_groups: dict[tuple[int, ...], set[int]] = {}
    with suppress(NothingSelected):
        for run in runs_with(results, selection).select("variant", "seed").iter_rows():
            group = tuple(place for place, runs in enumerate(of_parts) if run in runs)
            seeds_of_groups.setdefault(group, set()).add(run[1])
    if not seeds_of_groups:
        return [(common, selection)]
    return [
        (common + [entry for place in group for entry in parts[place]["rows"]], {**selection, "seed": sorted(seeds)})
        for group, seeds in sorted(seeds_of_groups.items())
    ]


def are_covered(required: Iterable[Conditions], entries: Sequence[Mapping[str, Json]]) -> bool:
    """Whether the data contain every row of these selections.

    Args:
        required: the selections. One with several values for a key may have each of them in another record.
        entries: the record of kept rows.
    """
    available, kept = complete_selections(entries), kept_quantities(entries)

    def is_there(selection: Conditions) -> bool:
        return any(narrows(selection, known) for known in available) or (
            "quantity" in selection and has_quantities(value_list(selection["quantity"]), kept)
        )

    return all(
        is_there(selection)
        or any(
            len(values := value_list(condition)) > 1 and all(is_there({**selection, key: value}) for value in values)
            for key, condition in selection.items()
        )
        for selection in required
    )


def narrows(selection: Conditions, other: Conditions) -> bool:
    """Whether every condition of the other is met by whatever meets those of the selection."""
    values = {key: {canonical(value) for value in value_list(condition)} for key, condition in selection.items()}
    return all(
        key in values and values[key] <= {canonical(value) for value in value_list(condition)}
        for key, condition in other.items()
    )


def is_drawable(
    section: _Section, entries: Sequence[_Entry], seeds: Sequence[int] = (), results: Results | None = None
) -> bool:
    """Whether the data contain the rows of a section, if it reads any: those of an earlier one, or whole selections.

    Args:
        section: resolved.
        entries: the record of kept rows.
        seeds: that the section draws, where the record tells seeds apart.
        results: as sections draw them, needed where the record tells runs apart. ``seeds`` follow from them.
    """
    if results is not None:
        selections = section_selections(section) or [section.get("where") or {}]
        for selection in selections:  # each may have its rows in another part of the record
            drawn: list[int] = []
            with suppress(NothingSelected):
                drawn = runs_with(results, selection)["seed"].unique().sort().to_list()
            resolved = with_comparators(results, section.get("where") or {})
            forms = [section, *([] if resolved is None else [{**section, "where": resolved}])]
            of_seeds: Conditions = {"seed": drawn, **selection} if drawn else selection
            for kept_of_runs, of_runs in entries_of_runs(entries, results, of_seeds):
                if len(selections) > 1 and not (
                    are_covered([of_runs], kept_of_runs)
                    # One that was written down with all that it selects keeps what it draws, in no single selection.
                    or any("section" in entry and _same_rows(section, entry["section"]) for entry in kept_of_runs)
                ):
                    return False
                seeds = value_list(of_runs["seed"]) if drawn else []
                if len(selections) == 1 and not any(is_drawable(form, kept_of_runs, seeds) for form in forms):
                    return False
        return True
    kept = kept_quantities(entries)
    sections = [entry["section"] for entry in entries if "section" in entry]
    named = quantities_of_section(section, kept)
    of_today = kept or not (sections or any("selection" in entry for entry in entries))
    # a section that was written down draws rows that its quantities do not name
    draws_more = section["kind"] in TEXT_SECTIONS or any(
        other["kind"] == section["kind"] and quantities_of_section(other, kept) == named for other in sections
    )
    if of_today and not draws_more and has_quantities(named, kept):
        return True
    if section["kind"] in ROWLESS_SECTIONS or any(_same_rows(section, other) for other in sections):
        return True
    own: Conditions = {"seed": list(seeds)} if seeds else {}
    required = [{**own, **selection} for selection in section_selections(section)]
    return bool(required) and section["kind"] != "curves" and are_covered(required, entries)


def _same_rows(section: _Section, other: _Section) -> bool:
    """Whether two sections differ only in how they draw, and the first selects no more than the second."""
    parameters = []
    for candidate in (section, other):
        asked = {k: v for k, v in candidate.items() if k not in COMMON_FIELDS}
        with suppress(Flawed):  # an older lnlab may not have written down the defaults of today
            asked = FRAME_REGISTRIES["section"].resolve(asked)
        decisive = {k: v for k, v in asked.items() if k not in (*DISPLAY_PARAMETERS, "where")}
        parameters.append(canonical(_unnamed(decisive)))
    return parameters[0] == parameters[1] and narrows(section.get("where") or {}, other.get("where") or {})


def _unnamed(value: Json) -> Json:
    """Without the names that candidates and printed tables have on the page."""
    if isinstance(value, Mapping):
        return {key: _unnamed(inner) for key, inner in value.items() if key != "name"}
    return [_unnamed(inner) for inner in value] if isinstance(value, list | tuple) else value


def missing_rows_sentence(missing: Iterable[Conditions]) -> str:
    """The sentence for a page: which rows the data lack."""
    words = dict.fromkeys(
        ", ".join(f"{key} = {format_condition(value)}" for key, value in selection.items()) for selection in missing
    )
    return f"rows of {'; '.join(words) or 'this kind'} are not in this report's data"


def format_condition(value: Json) -> str:
    """The condition of a selection on a column, as its author wrote it. Several values are joined by ``or``."""
    if isinstance(value, list | tuple):
        return " or ".join(map(format_condition, value))
    return value if isinstance(value, str) else canonical(value)
