"""Runs that begin with the end of another run: which run of which spec that is.

The key of such a run holds the key of the other's trajectory and its steps, never a name or a place. A named spec is
checked as if it were run, and its runs begin with no third one.
"""

from collections.abc import Callable

from lnlab.compile.checked import CheckedSpec, SourceRun
from lnlab.compile.digests import Input, input_of
from lnlab.errors import SpecError, nearest
from lnlab.issues import Issue
from lnlab.registry import Choice, Flawed
from lnlab.specfile.citations import specs_at_hand
from lnlab.specfile.load import load_spec


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
        if checked.registries["init"][choice["kind"]].facts.continues:
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
        Flawed: there is no such run, there are several, or it does not train. The spec that it names cannot be read or
            has a mistake. Other runs begin with those of ``own``.
    """
    if own.comes_first:
        what = "other runs begin with these, which begin with others in turn"
        raise Flawed(Issue("unsupported", ("spec",), what, "name a spec that begins anew"))
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
    keys = own.content_keys
    try:
        document = load_spec(path)
        checked = check_spec(document, keys.registries, keys.roots, profile=own.profile, overrides=(), comes_first=True)
    except SpecError as error:
        raise Flawed(
            Issue("unreadable", ("spec",), f"'{name}' cannot be read: {error.issues[0]}", f"lnlab check {path}")
        ) from error
    if checked.issues:
        command = f"lnlab check {path}" + (f" --profile {own.profile}" if own.profile else "")
        raise Flawed(Issue("unsupported", ("spec",), f"'{name}' has a mistake: {checked.issues[0]}", command))
    if checked.tuning is not None:
        what = f"'{name}' chooses {checked.tuning.paths[0]} on tuning seeds, so its runs are not known yet"
        raise Flawed(Issue("unsupported", ("spec",), what, "name a spec without choose"))
    if len(checked.settings) > 1:
        what = f"'{name}' has {len(checked.settings)} variants, expected one"
        raise Flawed(Issue("unsupported", ("spec",), what, "name a spec without a sweep"))
    (setting,) = checked.settings
    if not setting["train"]["steps"]:
        raise Flawed(Issue("unsupported", ("spec",), f"the run of '{name}' does not train", "name one that trains"))
    return SourceRun(checked=checked, setting=setting, keys=checked.content_keys.of(setting))
