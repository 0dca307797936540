"""Specs that mean the same although they are written otherwise, and settings that differ in one value."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from ruamel.yaml import YAML

from lnlab.compile.check import check_spec
from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.plan import compile_plan
from lnlab.compile.work import Plan, ResolvedSetting
from lnlab.corpora.files.fetch import data_roots
from lnlab.errors import LabError
from lnlab.keys import digest
from lnlab.registry import Flawed
from lnlab.specfile.dump import spec_yaml
from lnlab.specfile.load import SpecDocument, load_spec
from tests.support.forking import Pool, Server, servers
from tests.torture.faults import Tally, fault, sample
from tests.torture.loader_faults import SPECS
from tests.torture.loader_typos import EVERY
from tests.torture.loader_values import Where, registry_of, values_in, with_value

GROUP = "What is the same, and what is not"
SAME = "a spec in other words has the keys of the same runs and measurements"
OTHER = "one value of a setting more or less is another run"
WRITINGS, OF_THE_SUITE = 12, 4
SETTINGS = 4
"""Of each spec, in whose values something is changed."""
ELSEWHERE = (("PYTHONHASHSEED=1", "LC_ALL=C"), ("PYTHONHASHSEED=2", "LC_ALL=de_DE.UTF-8", "TZ=Asia/Tokyo"))
SENTENCES = ("title", "question", "note", "differs", "related", "theme", "source")
"""Top-level keys all of whose texts are for readers."""
OF_PARTS = ("says", "source", "title", "heading", "why", "needs")
"""The same of claims, present or dropped, and sections."""
NOT_IN_THE_KEY = {
    ("train", "evaluate"): "says when a run is looked at, which a rule that ends it may do too",
    ("train", "epochs"): "is a number of updates by then, which is in the key",
}


def is_for_readers(path: Where, value: Any) -> bool:
    """Whether what stands at a path of a spec is a sentence that decides nothing."""
    return isinstance(value, str) and (
        path[0] in SENTENCES or (path[0] in ("report", "claims", "dropped") and path[-1] in OF_PARTS)
    )


def shuffled(value: Any, draw: Random) -> Any:
    """The same data with every mapping in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key], draw) for key in draw.sample(list(value), len(value))}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


def in_blocks(data: Any) -> str:
    """YAML of another writer, without braces or brackets, between comments."""
    stream = StringIO()
    YAML(typ="safe", pure=True).dump(data, stream)
    return stream.getvalue()


def in_other_words(data: dict[str, Any], draw: Random) -> bytes:
    """A spec of the same runs in another order, style and encoding, with other sentences and comments."""
    for path, value in list(values_in(data)):
        if is_for_readers(path, value) and draw.random() < 0.5:
            data = with_value(data, path, f"{value} Or so.")
    data = shuffled(data, draw)
    write = draw.choice([spec_yaml, in_blocks, json.dumps, lambda data: json.dumps(data, indent=3, ensure_ascii=False)])
    lines = write(data).splitlines()
    commented = (f"\n# {draw.random()}\n{line}" if line[:1].isalpha() else line for line in lines)
    text = "\n".join(["# yaml-language-server: none", *commented, "# the end", ""])
    mark = "\ufeff" * draw.randrange(2)
    return (mark + text.replace("\n", draw.choice(["\n", "\r\n"]))).encode()


def keys_of(document: SpecDocument) -> str:
    """One digest of the keys of all runs, trajectories, settings and measurements."""
    plan = compile_plan(document, EVERY, data_roots(document.path.parent), assume_data=True)
    return digest(sorted(key for part in (plan, *plan.sources) for key in _keys(part)))


def _keys(plan: Plan) -> Iterator[str]:
    yield from plan.settings
    for run in plan.runs:
        yield run.key
    for trajectory in plan.trajectories:
        yield trajectory.key
        yield from (measurement.key for measurement in trajectory.measurements)


def written_job(folder: str, name: str, writings: Sequence[int]) -> list[str]:
    """The keys of a spec as it ships, and of so many writings of it."""
    spec = next(path for path in SPECS if path.stem == name)
    shipped = load_spec(spec)
    keys = [keys_of(shipped)]
    for number in writings:
        path = Path(folder) / f"{name}-{number}.yaml"
        path.write_bytes(in_other_words(shipped.data, Random(f"{name} {number}")))
        keys.append(keys_of(replace(load_spec(path), path=spec)))
    return keys


@fault(GROUP, "a spec with its keys in another order, other sentences, style, ends of lines, hash seed or locale", SAME)
def written_otherwise(folder: Path, full: bool) -> Tally:
    """Writings of every shipped spec, half of them read by a process with another hash seed and locale."""
    tally, count = Tally(), WRITINGS if full else OF_THE_SUITE
    pools = [Pool([Server(("env", *environment))]) for environment in ELSEWHERE]

    def read(numbered: tuple[int, str]) -> list[str]:
        half, name = numbered
        return pools[half].answer(f"{__name__}:written_job", str(folder), name, list(range(count))[half :: len(pools)])

    try:
        for name in [spec.stem for spec in SPECS] if full else ["decoder_only"]:
            with ThreadPoolExecutor(len(pools)) as threads:
                (shipped, *others), *elsewhere = threads.map(read, [(half, name) for half in range(len(pools))])
            for keys in (*others, *chain.from_iterable(elsewhere)):
                tally.lost += [f"{name} has other keys"] * (keys != shipped)
            tally.injected += count
    finally:
        for pool in pools:
            pool.members[0].close()
    return tally


def another(value: Any) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    return 1 if value is None else value[:-1]


def other_settings(setting: ResolvedSetting) -> Iterator[tuple[Where, ResolvedSetting]]:
    """The path of each value of a setting, with the setting in which it alone is another."""
    for path, value in values_in(setting):
        if path[-1] == "kind":
            yield from ((path, with_value(setting, path[:-1], choice)) for choice in other_choices(path[-2], value))
        elif value is None and path[-1] in EVERY:
            yield from ((path, with_value(setting, path, choice)) for choice in other_choices(path[-1], ""))
        elif path[:2] not in NOT_IN_THE_KEY and not isinstance(value, dict) and value != []:
            yield path, with_value(setting, path, another(value))


def other_choices(word: str | int, kind: str) -> Iterator[Any]:
    """The other kinds that need no parameter."""
    registry = EVERY.get(word)
    if registry is None or (kind and kind not in registry.entries):
        registry = registry_of(kind)
    for entry in registry:
        if entry.name != kind:
            with suppress(Flawed):
                yield registry.resolve(entry.name)


def changed_job(name: str) -> tuple[int, list[str]]:
    """How many values of a spec's settings were changed, and which of them without another key."""
    spec = next(path for path in SPECS if path.stem == name)
    roots = data_roots(spec.parent)
    checked = check_spec(load_spec(spec), EVERY, roots, profile=None, overrides=(), files=False)
    count, lost = 0, []
    for setting in sample(checked.settings, SETTINGS):
        keys = ContentKeys(EVERY, roots)
        shipped = keys.of(setting).variant
        for path, other in other_settings(setting):
            with suppress(LabError):  # no file has the name that the value was changed to
                same = keys.of(other).variant == shipped
                count += 1
                lost += [f"{name}: {'.'.join(map(str, path))} is not in the key"] * same
    return count, lost


@fault(GROUP, "a setting with one of its values changed", OTHER)
def changed(folder: Path, full: bool) -> Tally:
    """Every value of some settings of every shipped spec."""
    del folder  # nothing is written
    tally, pool = Tally(), servers()
    names = [spec.stem for spec in (SPECS if full else sample(SPECS, 2))]
    for count, lost in pool.map(lambda name: pool.answer(f"{__name__}:changed_job", name), names):
        tally.injected += count
        tally.lost += lost
    return tally
