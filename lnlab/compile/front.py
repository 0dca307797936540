"""The front half of the compiler: what a spec asks of runs that exist already. No corpus is read.

The number of updates an epoch, which only a corpus determines, is left to the runs themselves.
"""

from collections.abc import Callable, Mapping, Sequence

from lnlab.compile.check import check_spec, parse_overrides
from lnlab.compile.checked import Checked
from lnlab.compile.decisions import Decision
from lnlab.compile.interned import interned_parts
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.resolve import Resolver
from lnlab.compile.selection.inheritance import with_claims_written_out
from lnlab.compile.stages import ResolvedStage, final_stage
from lnlab.compile.sweep.overlay import merge_spec
from lnlab.errors import SpecError
from lnlab.issues import Where
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
    return checked.experiment, [(texts[str(claim.name[1])], claim.choice) for claim in checked.requests.claims]


def section_location(
    document: SpecDocument, registries: Registries, profile: str | None, overrides: Sequence[str], path: Where
) -> str:
    """``file:line:col`` of what stands at a path of the spec, or the override that set it."""
    changes, _ = parse_overrides(overrides)
    location = with_claims_written_out(merge_spec(document, profile, changes), registries).location(path)
    return location.argument or document.where(location.path)


def claim_location(
    document: SpecDocument,
    registries: Registries,
    profile: str | None,
    overrides: Sequence[str],
    claim: str,
    keys: Sequence[str | int],
) -> str:
    """``file:line:col`` of what stands below these keys of a claim, or of the override that set it.

    A part that a claim inherits is located in its section. A requirement by id is located at the claim of that id.
    """
    changes, _ = parse_overrides(overrides)
    merged = with_claims_written_out(merge_spec(document, profile, changes), registries)
    stated = merged.data.get("claims") or ()
    number = next((n for n, entry in enumerate(stated) if isinstance(entry, dict) and entry.get("id") == claim), None)
    if number is None:
        return document.where(())
    if keys[:1] == ["requires"] and isinstance(stated[number].get("requires"), dict):
        keys = ["requires", *keys[2:]]  # the spec writes one requirement without a list
    location = merged.location(("claims", number, *keys))
    return location.argument or document.where(location.path)


def _checked(document: SpecDocument, registries: Registries, profile: str | None, overrides: Sequence[str]) -> Checked:
    return check_spec(document, registries, (), profile=profile, overrides=overrides, files=False)


def setting_namer(registries: Registries) -> Callable[[Mapping[str, Json]], str]:
    """Return a function that names a resolved setting: its text with today's defaults, without derived steps."""
    resolver = Resolver(registries)

    def name(setting: Mapping[str, Json]) -> str:
        train = setting["train"]
        if train.get("epochs") is not None:
            train = {key: value for key, value in train.items() if key != "steps"}
        parts = {**setting, "train": train}
        resolved, _ = resolver.setting(interned_parts(parts))
        return canonical(parts if resolved is None else resolved)

    return name
