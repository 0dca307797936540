"""One side of a comparison: what a spec, a lock or a committed report says, in one form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.claims.claim import Verdict
from lnlab.committed.locks.lock_report import LOCK_SUFFIX, read_lock
from lnlab.compile.sweep.overlay import merge_spec
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.contents import EXPERIMENT_FILE, is_report
from lnlab.report.folder import read_folder
from lnlab.report.page.methods import settings_of_variants, values_by_path
from lnlab.select.axes import EVERY_RUN, variant_names
from lnlab.specfile.load import parse_leniently, parse_spec, read_spec_text
from lnlab.specfile.seeds import seeds_text
from lnlab.specfile.values import value_label
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


@dataclass(frozen=True)
class Side:
    """What one side says.

    Attributes:
        label: as the user named it.
        document: the spec once its profile and overrides are applied.
        settings: path -> the values that it takes over all variants.
        seeds: variant, by its axes in words -> its seeds.
        keys: variant -> its content key, where the runs exist.
        verdicts: by claim, or None where nothing was judged.
        results: the rows, or None where nothing was run.
    """

    label: str
    document: Mapping[str, Json]
    settings: Mapping[str, Sequence[Json]]
    seeds: Mapping[str, str]
    keys: Mapping[str, str] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] | None = None
    results: Results | None = None


def read_side(name: str, profile: str | None, known: "Registries | None" = None) -> Side:
    """The side that ``name`` names.

    Args:
        name: a spec, the folder of a report, or its lock.
        profile: of a spec. A lock and a report have theirs.
        known: the registries of both wings. None loads them if a spec has to be compiled.

    Raises:
        LabError: there is no such thing, or it cannot be read.
    """
    path = Path(name)
    if path.suffix == LOCK_SUFFIX and path.is_file():
        return _report_side(name, read_lock(path).folder)
    if is_report(path):
        return _report_side(name, path)
    if path.is_dir() or not path.exists():
        what = f"is a folder without {EXPERIMENT_FILE}" if path.is_dir() else "there is no such file or folder"
        raise LabError(Issue("not-found", name, what, "name a spec, a lock or the folder of a report"))
    return _spec_side(name, path, profile, known)


def _report_side(label: str, folder: Path) -> Side:
    facts, results, verdicts = read_folder(folder)
    document = parse_leniently(facts.spec, Path(facts.path))[0]
    names = variant_names(results)
    grouped = results.runs.group_by("variant", maintain_order=True).agg("seed").iter_rows()
    return Side(
        label=label,
        document=merge_spec(document, facts.profile, facts.overrides).data,
        settings=values_by_path(settings_of_variants(results)),
        seeds={names[variant]: seeds_text(seeds) for variant, seeds in grouped},
        keys={name: variant for variant, name in names.items()},
        verdicts={verdict.claim: verdict for verdict in verdicts},
        results=results,
    )


def _spec_side(label: str, path: Path, profile: str | None, known: "Registries | None") -> Side:
    """The side of a spec: all that it sweeps, with every candidate of a choice, as nothing has been chosen yet."""
    from lnlab.committed.registries import load_registries
    from lnlab.compile.check import check_spec

    document = parse_spec(read_spec_text(path), Path(label))
    checked = check_spec(document, known or load_registries(()), (), profile=profile, overrides=(), files=False)
    if checked.issues:
        raise LabError(*checked.issues)
    points = map(checked.axes.point, checked.sweep.variants)
    names = (" ".join(f"{axis}={value_label(value)}" for axis, value in point.items()) for point in points)
    return Side(
        label=label,
        document=merge_spec(document, profile, ()).data,
        settings=values_by_path(checked.settings),
        seeds={
            name or EVERY_RUN: seeds_text(checked.seeds_of(variant.grids))
            for name, variant in zip(names, checked.sweep.variants, strict=True)
        },
    )
