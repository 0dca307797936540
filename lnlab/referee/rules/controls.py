"""Rules on the design: controls, settings that a sentence does not name, and sides that no claim reads."""

from collections.abc import Iterator

from lnlab.claims.claim_scope import results_of_claim, variants_of_claim
from lnlab.errors import LabError
from lnlab.keys import canonical
from lnlab.referee.rule import Remark, rule
from lnlab.referee.rules.training import mean_loss, size_of_run
from lnlab.referee.study import Study, pinned_paths
from lnlab.select.axis_words import names_value, setting_name
from lnlab.specfile.columns import METHOD

_CHOICES = ("method", "placement", "norm", "task", "init", "optimizer", "schedule", "model.tied")
"""Paths whose value is what a sentence is about, and no setting at which it is tried."""
_DEPENDS = "depends on the setting"


@rule(
    "R5", "Does the sentence hold at the other settings, or name its own?", "name the setting in the sentence", "both"
)
def unnamed_setting(study: Study) -> Iterator[Remark]:
    """Where a claim is tested at one of several values of a path, and its sentence does not say at which.

    Once there are rows, the judge has asked the other values: what is left is where they say the opposite.
    """
    if study.verdicts:
        for verdict in study.judged("undecided"):
            if verdict.detail == _DEPENDS:
                own, other, *_ = verdict.reason.split("; ")
                yield Remark(f"It depends on the setting: {own}; {other}.", (verdict.claim,), grave=True)
        return
    unnamed: dict[str, list[str]] = {}
    for name, claim in study.claims.items():
        for path, value in pinned_paths(claim).items():
            others = [level for level in study.levels.get(path, []) if level != value]
            stack = path.startswith(("schedule.", "encoder.", "decoder."))
            if others and path not in _CHOICES and not stack and not names_value(str(claim.get("says", "")), path):
                says = f"The sentence names no {setting_name(path)}; it is tested at {value}, and others are run."
                unnamed.setdefault(says, []).append(name)
    for says, claims in unnamed.items():
        yield Remark(says, tuple(claims))


@rule("R17", "Does a claim read the best side?", "a claim about it, or a sentence that says why there is none")
def best_side_in_no_claim(study: Study) -> Iterator[Remark]:
    """Where the method with the lowest loss of all that were run is in no claim."""
    if not any(study.is_loss(claim) for claim in study.claims):
        return
    read = _runs_read(study)
    contests: dict[str, dict[tuple[str, str], list[str]]] = {}
    for run in study.losses:
        point, setting = study.points[run], study.settings[run]
        if METHOD in point:
            contest = canonical([setting.get("task"), *size_of_run(study, run)])
            side = (str(point[METHOD]), canonical({k: v for k, v in point.items() if k != METHOD}))
            contests.setdefault(contest, {}).setdefault(side, []).append(run)
    methods_read = {str(study.points[run].get(METHOD)) for run in read}
    for sides in contests.values():
        best = min(sides, key=lambda side: mean_loss(study, sides[side]))
        if best[0] not in methods_read and any(method in methods_read for method, _ in sides):
            loss = mean_loss(study, sides[best])
            yield Remark(f"{best[0]} has the lowest loss of this page, {loss:.3g}, and is in no claim.", grave=True)


def _runs_read(study: Study) -> set[str]:
    """The runs that claims and what they require read."""
    variants: set[str] = set()
    for claim in study.claims.values():
        try:
            variants |= set(variants_of_claim(claim, results_of_claim(claim, study.results)))
        except LabError:
            continue
    rows = study.results.runs.select("run", "variant").iter_rows()
    return {run for run, variant in rows if variant in variants}


@rule("R30", "Did the controls hold?", "mend the control before the claims that lean on it")
def failed_control(study: Study) -> Iterator[Remark]:
    """A control that is not supported."""
    for verdict in study.judged(roles=["control"]):
        if verdict.verdict != "supported":
            yield Remark(f"A control of this page is {verdict.verdict}.", (verdict.claim,), grave=True)


@rule("R31", "Could the test have found the effect?", "a positive control, or a requirement", "both")
def no_control(study: Study) -> Iterator[Remark]:
    """Sentences of the source that are, or could be, judged against it where nothing shows that the test works."""
    controls = [name for name, claim in study.claims.items() if claim.get("role") == "control"]
    if any(not study.verdicts or _is(study, name, "supported") for name in controls):
        return
    against = tuple(
        name
        for name, claim in study.claims.items()
        if claim.get("role") == "source"
        and not claim.get("requires")
        and (not study.verdicts or _is(study, name, "contradicted", "smaller"))
    )
    if against:
        yield Remark("No control shows that this test could have found the effect.", against)


def _is(study: Study, claim: str, *words: str) -> bool:
    verdict = study.verdicts.get(claim)
    return verdict is not None and verdict.verdict in words
