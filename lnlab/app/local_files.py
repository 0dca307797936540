"""Corpora whose files a spec names itself: what can be known of them before a run.

They are read as a run would read them, so that a missing file, another encoding, a column that is not there or a number
of labels that is not declared is found at its place in the spec. Text of more than 64 MiB is not read.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.randomness import Draw

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.registry import Choice, Roots
    from lnlab.specfile.load import SpecDocument

MOST_READ = 1 << 26
"""Bytes of text that ``lnlab check`` reads."""


def survey_files(plan: "Plan", document: "SpecDocument", known: "Registries", roots: "Roots") -> list[str]:
    """What is worth saying of the corpora of a plan whose files its spec names.

    Raises:
        LabError: what is wrong with them, each at its place in the spec.
    """
    notes: list[str] = []
    problems: list[Issue] = []
    tasks = {canonical(setting["task"]): setting["task"] for setting in plan.settings.values()}
    for task in tasks.values():
        for name, registry in known["task"][task["kind"]].nested.items():
            facts = registry[task[name]["kind"]].facts
            if not getattr(facts, "local", False):
                continue
            try:
                if sum(path.stat().st_size for path in facts.inputs(roots, task[name])) > MOST_READ:
                    continue
                built = known["task"].builder(task)(Draw(1), roots)
                if hasattr(built, "survey"):  # the task reads the corpus, and can say more of it
                    notes += [note] if (note := built.survey()) else []
                else:
                    registry.builder(task[name])(roots)
            except LabError as error:
                problems += (_located(problem, name, task[name], document) for problem in error.issues)
            except OSError as error:
                problem = Issue("unreadable", str(error.filename), "cannot be read", str(error.strerror))
                problems.append(_located(problem, name, task[name], document))
    if problems:
        raise LabError(*dict.fromkeys(problems))
    return list(dict.fromkeys(notes))


def _located(problem: Issue, name: str, choice: "Choice", document: "SpecDocument") -> Issue:
    """The problem at the parameter that it is about."""
    if problem.where.startswith("task."):
        return replace(problem, place=f"{document.where(tuple(problem.where.split('.')))}: {problem.where}")
    about = [word for word, value in choice.items() if word != "kind" and _is_about(problem, value)]
    path = ("task", name, *about[:1])
    what = f"{problem.where}: {problem.what}" if problem.where != "task" else problem.what
    return Issue("wrong-value", f"{document.where(path)}: {'.'.join(path)}", what, problem.remedy)


def _is_about(problem: Issue, value: Json) -> bool:
    """Whether a problem names the value of a parameter: a column in its words, or a file as its place."""
    if isinstance(value, list | tuple):
        return any(_is_about(problem, item) for item in value)
    if not isinstance(value, str):
        return False
    named = f"column '{value}'" in problem.what or f"columns '{value}'" in problem.what
    is_column = "column" in problem.what
    return named or (not is_column and (problem.where.endswith(value) or problem.where == repr(value)))
