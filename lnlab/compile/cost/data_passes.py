"""What the pieces ask of the data, read off their signatures and facts, and what the task has.

An init whose builder takes a third argument, batches, reads data before any update.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.setting_paths import stacks_of
from lnlab.compile.work import DataPass, ResolvedSetting
from lnlab.facts import DataFacts
from lnlab.issues import Issue
from lnlab.registry import Choice, Entry, supplied_parameters


def asks_for_data(entry: Entry[Any]) -> bool:
    """Whether an init's builder takes ``(model, draw, batches)``. One that continues a run takes weights there."""
    return len(supplied_parameters(entry.build)) > 2 and not entry.facts.continues


def inits_of(choice: Choice, registries: Registries) -> Iterator[tuple[Entry[Any], Choice]]:
    """The init and those it is made of, with their parameters, the outermost first."""
    entry = registries["init"][choice["kind"]]
    yield entry, choice
    for name in entry.nested:
        yield from inits_of(choice[name], registries)


def data_passes(choices: Iterable[Choice], registries: Registries) -> tuple[DataPass, ...]:
    """What the inits read, one choice for each distinct initial state, in the order in which they come."""
    times = Counter(
        (entry.name, entry.facts.reads(init))
        for choice in choices
        for entry, init in inits_of(choice, registries)
        if asks_for_data(entry)
    )
    return tuple(DataPass(name, batches, number) for (name, batches), number in times.items())


def init_passes(choice: Choice, registries: Registries) -> float:
    """Forward passes of one batch that an init is worth."""
    inits = inits_of(choice, registries)
    return sum(float(entry.facts.passes(init)) for entry, init in inits if asks_for_data(entry))


def inits_say_what_they_read(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """An init of unknown cost cannot be planned."""
    silent = [
        entry.name
        for entry, _ in inits_of(setting["init"], registries)
        if asks_for_data(entry) and None in (entry.facts.reads, entry.facts.passes)
    ]
    what = "the init '{}' reads data and does not state how much"
    return [
        Issue("unsupported", ("init",), what.format(name), "register it with reads= and passes=") for name in silent
    ]


def what_is_read_has_an_end(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """Every batch of an epoch is no batch of a task that has no epochs."""
    task = registries["task"][setting["task"]["kind"]]
    flaws = []
    for entry, init in inits_of(setting["init"], registries):
        if task.facts.endless and reads_all(entry, init):
            what = f"'{entry.name}' reads every training batch, and the task '{task.name}' has no end"
            flaws.append(Issue("conflict", ("init",), what, "choose another init, or a task with a corpus"))
    return flaws


def reads_all(entry: Entry[Any], choice: Choice) -> bool:
    """Whether an init or a probe reads every batch of an epoch."""
    return entry.facts.reads is not None and entry.facts.reads(choice) is None


def profiles_have_a_placement(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A placement that waits for a profile needs the init that takes it, and the other way round."""
    inits = (init for init, _ in inits_of(setting["init"], registries) if _takes_profile(init))
    profilers = {init.facts.profiles: init.name for init in inits}
    waiting = set()
    flaws = []
    for stack in stacks_of(setting):
        choice = setting[stack]["placement"]
        placement = choice["kind"]
        word, value = registries["placement"][placement].facts.waits or (None, None)
        if word is None or choice[word] != value:
            continue
        waiting.add(placement)
        if placement not in profilers:
            init = setting["init"]["kind"]
            fitting = [entry.name for entry in registries["init"] if entry.facts.profiles == placement]
            what = f"'{placement}' with {word}: {value} needs the profile of a batch, and init '{init}' takes none"
            remedy = " or ".join(f"write init: {{kind: {name}, of: {init}}}" for name in fitting)
            flaws.append(Issue("conflict", (stack, "placement"), what, f"{remedy}, or give another '{word}'"))
    for placement in profilers.keys() - waiting:
        word, value = registries["placement"][placement].facts.waits
        remedy = f"write placement: {{kind: {placement}, {word}: {value}}}, or choose another init"
        what = f"'{profilers[placement]}' writes a profile into placement '{placement}', and no stack has one"
        flaws.append(Issue("conflict", ("init",), what, remedy))
    return flaws


def profiles_come_last(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A profile is valid for the weights that it was taken of."""
    (outer, _), *inner = inits_of(setting["init"], registries)
    return [
        Issue(
            "conflict",
            ("init",),
            f"'{outer.name}' would change weights after '{entry.name}' has taken their profile",
            f"swap them: {{kind: {entry.name}, of: {outer.name}}}",
        )
        for entry, _ in inner
        if _takes_profile(entry)
    ]


def runs_are_continued_outermost(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """The weights of another run are taken over last, as the init around them would fill them anew."""
    _, *inner = inits_of(setting["init"], registries)
    return [
        Issue(
            "conflict",
            ("init",),
            f"'{entry.name}' is inside another init",
            f"write {{kind: {entry.name}, of: ...}} outermost",
        )
        for entry, _ in inner
        if entry.facts.continues
    ]


def statistics_are_of_several_tokens(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A single token has no variance."""
    task = setting["task"]
    tokens = registries["task"][task["kind"]].facts.tokens
    flaws = []
    for stack in stacks_of(setting) if tokens is not None and tokens(task) < 2 else ():
        kind = setting[stack]["norm"]["kind"]
        if registries["norm"][kind].facts.statistics == "batch":
            what = f"'{kind}' uses the statistics of a batch, and a batch of '{task['kind']}' may be a single token"
            flaws.append(
                Issue("out-of-range", (stack, "norm"), what, "make the batches larger, or choose a norm of a token")
            )
    return flaws


def what_is_declared_is_there(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A model is as large as its task declares, although the files that determine it are not read."""
    task = setting["task"]
    nested = registries["task"][task["kind"]].nested
    pieces = [(registry.kind, registry[task[name]["kind"]]) for name, registry in nested.items()]
    return [
        Issue(
            "conflict",
            ("task", word),
            f"the {kind.replace('_', ' ')} '{entry.name}' has {value}, and {word} is {task[word]}",
            f"write {word}: {value}",
        )
        for kind, entry in pieces
        if isinstance(entry.facts, DataFacts)
        for word, value in entry.facts.declares.items()
        if word in task and task[word] != value
    ]


DATA_CHECKS = (
    inits_say_what_they_read,
    what_is_read_has_an_end,
    profiles_have_a_placement,
    profiles_come_last,
    runs_are_continued_outermost,
    statistics_are_of_several_tokens,
    what_is_declared_is_there,
)


def _takes_profile(init: Entry[Any]) -> bool:
    return init.facts.profiles is not None
