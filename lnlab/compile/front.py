"""The front half of the compiler: what a spec asks of runs that exist already. No corpus is read.

The number of updates an epoch, which only a corpus determines, is left to the runs themselves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from lnlab.compile.check import check_spec, parse_overrides
from lnlab.compile.checked import Checked
from lnlab.compile.decisions import Decision
from lnlab.compile.interned import interned_parts
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.resolve import Resolver
from lnlab.compile.resolve.training import LENGTHS
from lnlab.compile.selection.inheritance import with_claims_written_out
from lnlab.compile.source_spans import as_read
from lnlab.compile.stages import ResolvedStage, final_stage
from lnlab.compile.sweep.overlay import MergedSpec, merge_spec
from lnlab.errors import SpecError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.registry import Choice
from lnlab.specfile.experiment import ClaimText, Experiment
from lnlab.specfile.load import SpecDocument


def compile_front(
    document: SpecDocument,
    registries: Registries,
    *,
    profile: str | None,
    overrides: Sequence[str] = (),
    decisions: Sequence[Decision] = (),
) -> ResolvedStage:
    """The runs of a spec that are judged, given what was chosen on tuning seeds.

    Steps that follow from epochs mean nothing, as only a corpus says how many an epoch has.

    Raises:
        SpecError: every problem of the spec at once, except for those that only its corpora show.
        LabError: the spec chooses something that was not decided.
    """
    checked = _checked(document, registries, profile, overrides)
    if checked.issues:
        raise SpecError(*checked.issues)
    return final_stage(checked, decisions)


def sound_claims(
    document: SpecDocument, registries: Registries, profile: str | None, overrides: Sequence[str]
) -> tuple[Experiment, list[tuple[ClaimText, Choice]]]:
    """Every claim that can be resolved, with its resolved parameters. Flawed claims do not affect the others."""
    checked = _checked(document, registries, profile, overrides)
    texts = {claim.id: claim for claim in checked.experiment.claims}
    return checked.experiment, [(texts[str(claim.path[1])], claim.choice) for claim in checked.requests.claims]


def located_issues(
    issues: Iterable[Issue],
    document: SpecDocument,
    registries: Registries,
    profile: str | None,
    overrides: Sequence[str],
) -> list[Issue]:
    """Issues of claims and sections as the user reads them, each once, in the order of the file.

    A part that a claim inherits is located in its section. A requirement by id is located at the claim of that id.

    Args:
        issues: with paths ``claims.<id>.<key>``, ``report.<number>.<key>``, or of the spec itself.
        document: the spec.
        registries: those of claims and sections.
        profile: its profile.
        overrides: the arguments of ``-s``.
    """
    return as_read(_merged(document, registries, profile, overrides).located(issues), document)


def claim_location(
    document: SpecDocument, registries: Registries, profile: str | None, overrides: Sequence[str], claim: str
) -> str:
    """``file:line:col`` of a claim, or the override that set it."""
    merged = _merged(document, registries, profile, overrides)
    place = merged.written(("claims", claim))
    return place if isinstance(place, str) else document.where(place)


def _merged(
    document: SpecDocument, registries: Registries, profile: str | None, overrides: Sequence[str]
) -> MergedSpec:
    changes, _ = parse_overrides(overrides)
    return with_claims_written_out(merge_spec(document, profile, changes), registries)


def _checked(document: SpecDocument, registries: Registries, profile: str | None, overrides: Sequence[str]) -> Checked:
    return check_spec(document, registries, (), profile=profile, overrides=overrides, files=False)


def setting_namer(registries: Registries) -> Callable[[Mapping[str, Json]], str]:
    """Return a function that names a resolved setting: its text with today's defaults, without derived steps."""
    resolver = Resolver(registries)

    def name(setting: Mapping[str, Json]) -> str:
        train = setting["train"]
        if any(train.get(key) is not None for key in LENGTHS[1:]):
            train = {key: value for key, value in train.items() if key != "steps"}
        parts = {**setting, "train": train}
        resolved, _ = resolver.setting(interned_parts(parts))
        return canonical(parts if resolved is None else resolved)

    return name
