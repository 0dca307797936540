"""Runs that begin with the state of another run: which run of which spec that is, and the plans that come before.

The key of such a run holds the key of the other's trajectory and the step, never a name or a place. A named spec is
checked as if it were run, so it may begin with a third one in turn. A spec that leads back to itself is refused.
"""

from collections.abc import Callable

from lnlab.compile.checked import CheckedSpec, SourceRun
from lnlab.compile.digests import Input, input_of
from lnlab.compile.resolved_sweep import variants_of
from lnlab.errors import SpecError, nearest
from lnlab.issues import Issue
from lnlab.registry import Choice, Flawed
from lnlab.specfile.citations import specs_at_hand
from lnlab.specfile.load import load_spec

_OWN = "same"


def resolve_sources(
    checked: CheckedSpec, check_spec: Callable[..., CheckedSpec]
) -> tuple[dict[str, SourceRun], tuple[Input, ...], list[Issue]]:
    """The runs of other specs that those of a spec begin with, the files they depend on, and what is wrong.

    Args:
        checked: the spec, its sweep resolved.
        check_spec: checks another one.
    """
    sources: dict[str, SourceRun] = {}
    inputs: dict[str, Input] = {}
    flaws: list[Issue] = []
    for text, choice in {setting.texts["init"]: setting["init"] for setting in checked.settings}.items():
        known = text in checked.content_keys.files.continued
        if checked.registries["init"][choice["kind"]].facts.continues and not known:
            try:
                run = _source_run(choice, checked, check_spec)
            except Flawed as error:
                flaws += [flaw.below("init") for flaw in error.issues]
                continue
            sources[text] = run
            inputs |= {file.path: file for file in (input_of(run.checked.document.path), *run.checked.inputs)}
    return sources, tuple(inputs.values()), flaws


def _source_run(choice: Choice, own: CheckedSpec, check_spec: Callable[..., CheckedSpec]) -> SourceRun:
    """The one run that an init of the spec ``own`` names.

    Raises:
        Flawed: there is no such run, there are several, or it ends before that step. The spec that it names cannot be
            read, has a mistake, or begins with itself by way of others.
    """
    name = choice["spec"]
    known = specs_at_hand(own.document.path)
    if name not in known:
        raise Flawed(
            Issue(
                "unknown-name",
                ("spec",),
                f"no spec is called '{name}', here or among the shipped ones",
                nearest(name, known),
            )
        )
    path = known[name]
    profile = own.profile if choice["profile"] == _OWN else choice["profile"]
    lineage = (*own.ancestors, own.document.path.resolve())
    keys = own.content_keys
    try:
        document = load_spec(path)
        here = document.path.resolve()
        if here in lineage:  # checking it would check this spec again, and so on without end
            way = " -> ".join(ancestor.stem for ancestor in (*lineage[lineage.index(here) :], here))
            what = f"its runs would start from themselves: {way}"
            raise Flawed(Issue("unsupported", ("spec",), what, "name a spec that does not start from this one"))
        checked = check_spec(document, keys.registries, keys.roots, profile=profile, overrides=(), ancestors=lineage)
    except SpecError as error:
        raise Flawed(
            Issue("unreadable", ("spec",), f"'{name}' cannot be read: {error.issues[0]}", f"lnlab check {path}")
        ) from error
    if checked.issues:
        command = f"lnlab check {path}" + (f" --profile {profile}" if profile else "")
        raise Flawed(Issue("unsupported", ("spec",), f"'{name}' has a mistake: {checked.issues[0]}", command))
    if checked.tuning is not None:
        what = f"'{name}' chooses {checked.tuning.paths[0]} on tuning seeds, so its runs are not known yet"
        raise Flawed(Issue("unsupported", ("spec",), what, "name a profile of it without choose"))
    variants = variants_of(checked.sweep.variants)
    where = choice["where"] or {}
    for key in where:
        if not variants.has(key):
            raise Flawed(
                Issue("unknown-name", ("where", key), f"no run of '{name}' has it", nearest(key, variants.paths))
            )
    members = sorted(variants.selected(where))
    if len(members) != 1:
        what = f"{len(members)} of the {len(checked.settings)} variants of '{name}' match, expected one"
        raise Flawed(
            Issue("unsupported", ("where",), what, f"select one by {', '.join(checked.axes.paths) or 'nothing'}")
        )
    setting = checked.settings[members[0]]
    steps = setting["train"]["steps"]
    step = steps if choice["at"] == "end" else choice["at"]
    if not 1 <= step <= steps:
        what = f"this run of '{name}' has {steps} training steps" if steps else f"this run of '{name}' does not train"
        raise Flawed(
            Issue("unsupported", ("at",), what, f"write a step from 1 to {steps}" if steps else "name one that trains")
        )
    seed = None if choice["seed"] == _OWN else choice["seed"]
    return SourceRun(checked=checked, setting=setting, keys=checked.content_keys.of(setting), step=step, seed=seed)
