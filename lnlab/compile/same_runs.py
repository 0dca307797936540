"""Settings of a sweep with the same runs: they differ only in what changes no update, and nothing tells them apart."""

from collections.abc import Iterator, Mapping

from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.interned import Variant
from lnlab.compile.resolved_sweep import ResolvedSweep
from lnlab.compile.sweep.methods import METHODS
from lnlab.errors import listed
from lnlab.issues import Issue, Where
from lnlab.keys import Json


def same_run_issues(sweep: ResolvedSweep, content_keys: ContentKeys) -> list[Issue]:
    """Settings whose runs are those of an earlier setting, so that a row of theirs would belong to either.

    One issue for all pairs that stand at one place and differ in the same values.

    Args:
        sweep: resolved, without flaws. Equal settings are merged in it.
        content_keys: what a run depends on.

    Raises:
        LabError: a file that a choice names, and whose content its key holds, cannot be read.
    """
    first_of_runs: dict[tuple[str, str | None, int], Variant] = {}
    issues: dict[tuple[Where, str], Issue] = {}
    for variant in sweep.variants:
        keys = content_keys.of(variant.setting)
        first = first_of_runs.setdefault((keys.start, keys.movement, keys.steps), variant)
        if first is variant:
            continue
        methods = first.method, variant.method
        place: Where = ("sweep", min(variant.grids))
        subject, away = "two settings of the sweep", "leave one of them out, as with 'except'"
        if methods[0] != methods[1]:
            place = (METHODS, str(methods[1]))
            subject, away = f"the methods '{methods[0]}' and '{methods[1]}'", "remove one of them"
        paths = listed(differing_paths(first.setting, variant.setting), last="and")
        steps = variant.setting["train"]["steps"]
        what = f"{subject} have the same runs: they differ only in {paths}, and that changes no run of {steps:,} steps"
        issue = Issue("duplicate", place, what, f"let their runs differ, or {away}", named=())
        issues.setdefault((place, paths), issue)
    return list(issues.values())


def differing_paths(first: Mapping[str, Json], second: Mapping[str, Json], above: str = "") -> Iterator[str]:
    """The dotted paths at which two settings differ. Choices of two kinds differ as a whole."""
    for key in dict.fromkeys([*first, *second]):
        own, other = first.get(key), second.get(key)
        if own == other:
            continue
        if isinstance(own, dict) and isinstance(other, dict) and own.get("kind") == other.get("kind"):
            yield from differing_paths(own, other, f"{above}{key}.")
        else:
            yield f"{above}{key}"
