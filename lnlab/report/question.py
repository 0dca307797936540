"""The question of an experiment as the report says it: its sections, its claims, and the words of its quantities."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from lnlab.compile.work import Plan
from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Registry
from lnlab.specfile.citations import AUTHORED
from lnlab.specfile.experiment import ClaimText, Experiment, SectionText, kind_and_parameters
from lnlab.specfile.expressions import named_expressions, named_parts
from lnlab.vocabulary.quantities import MEASURED


def claims_with_choices(experiment: Experiment, claims: Iterable[tuple[ClaimText, Choice]]) -> list[dict[str, Json]]:
    """Return the common fields of every claim, its own seeds if it has any, and the resolved parameters of its kind."""
    looks = experiment.model_dump(mode="json", include={"looks"})
    resolved = []
    for text, choice in claims:
        seeds = experiment.seeds_of_claim(text.id)
        resolved.append(
            {
                **text.model_dump(mode="json", include=set(ClaimText.model_fields) - {"kind"}),
                "role": experiment.role_of(text),
                **(looks if text.looks is None else {}),
                **({} if seeds is None else {"seeds": list(seeds)}),
                **choice,
            }
        )
    return resolved


def resolved_probes(experiment: Experiment, known: Mapping[str, Registry[Any]]) -> tuple[Mapping[str, Json], ...]:
    """The probes of a spec, every default explicit, with the moments ``at`` which and the grids that each measures."""
    return tuple(
        {
            **known["probe"].resolve(kind_and_parameters(probe)),
            "at": probe.at,
            **({} if probe.grid is None else {"grid": list(probe.grid)}),
        }
        for probe in experiment.probes
    )


def files_read_by(plan: Plan) -> tuple[Mapping[str, Json], ...]:
    """What the keys of a plan hold of files, so that a report is judged again where none of them is at hand."""
    settings = plan.settings.values()
    inits = [setting["init"] for setting in settings]
    return plan.files_read.entries([setting["task"] for setting in settings], inits)


def question_fields(
    experiment: Experiment,
    sections: Iterable[Choice],
    known: Mapping[str, Registry[Any]],
    grid_seeds: Iterable[Mapping[str, Json]] = (),
    *,
    profile: str | None = None,
) -> dict[str, Any]:
    """The fields of ``ReportFacts`` that state the question of the experiment, its sections and its grids' seeds.

    What the author wrote of the results of another profile is left out.
    """
    authored = experiment.is_authored(profile)
    sections = list(sections)
    pairs = zip(experiment.report, sections, strict=True)
    # the words of what the probes measure, and of the derived quantities that sections and claims name; those of
    # lnlab's own probes every lnlab has
    measured = [known["probe"][probe.kind].facts.quantities for probe in experiment.probes]
    stated = (quantities for quantities in measured if isinstance(quantities, Mapping))
    words = {name: quantities[name] for quantities in stated for name in quantities if name not in MEASURED}
    asked = [*sections, *(kind_and_parameters(claim) for claim in experiment.claims)]
    parts = [part for name in named_expressions(asked) for part in named_parts(name)]
    named = canonical([*asked, *parts])
    derived = [entry for entry in known["quantity"] if entry.facts.words and canonical(entry.name) in named]
    words |= {entry.name: entry.facts.words for entry in derived}
    stated_setting = experiment.source.setting if experiment.source else None
    return {
        "title": experiment.title,
        "question": experiment.question or "",
        "source": experiment.source.model_dump(exclude={"setting"}, exclude_none=True) if experiment.source else {},
        "source_setting": stated_setting.model_dump(mode="json", exclude_none=True) if stated_setting else {},
        "differs": _differences(experiment) if authored else (_of_another_profile(experiment, profile),),
        "dropped": tuple(group.model_dump(exclude_none=True) for group in experiment.dropped),
        "related": dict(experiment.related),
        "theme": experiment.theme or "",
        "answers": tuple(answer.model_dump(by_alias=True) for answer in experiment.answer),
        "sections": tuple(
            {**choice, "title": text.title, **_heading(text, authored=authored), "claims": list(text.claims)}
            for text, choice in pairs
        ),
        "sources": {claim.id: claim.source for claim in experiment.claims if claim.source},
        "words": {name: asdict(words[name]) for name in sorted(words)},
        "seeds": experiment.seeds if experiment.claim_seeds or experiment.grid_seeds else (),
        "grid_seeds": tuple(grid_seeds),
        "because": {claim.id: dict(claim.because) for claim in experiment.claims if claim.because},
    }


def _heading(section: SectionText, *, authored: bool) -> dict[str, Json]:
    """The author's heading with the verdicts that it was written for, or none where it tells another profile's."""
    if section.while_ is None:
        return {"heading": section.heading if authored else None}
    return {"heading": section.heading, "while": dict(section.while_)}


def _differences(experiment: Experiment) -> tuple[str | Mapping[str, str], ...]:
    return tuple(one if isinstance(one, str) else one.model_dump(exclude_none=True) for one in experiment.differs)


def _of_another_profile(experiment: Experiment, profile: str | None) -> str:
    """Say which profile is compared with the source, in place of its differences."""
    task = experiment.profiles[AUTHORED].get("task")
    corpus = task.get("corpus") if isinstance(task, Mapping) else experiment.profiles[AUTHORED].get("task.corpus")
    name = corpus.get("kind") if isinstance(corpus, Mapping) else corpus
    data = f", on {name}" if name else ""
    compared = "the source is compared with" if experiment.source else "the author writes of"
    return f"Profile {profile or 'default'}: {compared} profile {AUTHORED}{data}."
