"""The length of a run as updates: passes over the training data, training tokens per parameter, shares of warm-up.

The task reads its corpus and says how many updates an epoch has. A spec that counts nothing in epochs needs no corpus.
Any other can be checked where its corpus is absent. An epoch then counts as a thousand batches, and ``absent`` has the
error that running it would raise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from lnlab.compile.interned import InternedSetting, SettingPart, part_of
from lnlab.compile.resolve.choices import Registries
from lnlab.errors import CorpusError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.randomness import Draw
from lnlab.registry import Entry, Flawed, Roots
from lnlab.specfile.moments import UNKNOWN_EPOCH, due_count, due_steps
from lnlab.training_extra import absent_packages


@dataclass
class Epochs:
    """The lengths of tasks' epochs, each read once.

    Attributes:
        registries: of which the task is one.
        roots: folders of data, searched in order.
        reading: whether corpora may be read. If not, every epoch counts as a thousand batches, and where
            torch is absent so does a length by parameters.
        batches: of an epoch, by the canonical text of the task, as far as it is known. None means no end.
        absent: the corpora that are not there, in the order in which they were missed.
    """

    registries: Registries
    roots: Roots
    reading: bool
    batches: dict[str, int | None] = field(default_factory=dict)
    absent: list[CorpusError] = field(default_factory=list)
    _trains: dict[tuple[str, int], SettingPart] = field(default_factory=dict)

    def updates(self, setting: InternedSetting) -> float | None:
        """Updates an epoch of a resolved setting, or None where the data have no end."""
        text = setting.texts["task"]
        if text not in self.batches:
            self.batches[text] = UNKNOWN_EPOCH
            if self.reading:
                try:
                    # Any seed will do: an epoch has the same number of batches under each.
                    task = self.registries["task"].builder(setting["task"])(Draw(1), self.roots)
                    self.batches[text] = task.epoch_batches
                except CorpusError as error:  # told only when the plan is made: a spec is checked without its corpora
                    self.absent.append(error)
        batches = self.batches[text]
        return None if batches is None else batches / setting["train"]["accumulate"]

    def in_steps(self, setting: InternedSetting) -> InternedSetting:
        """The setting with its length, and its warm-up, in steps. Equal ones share their ``train``.

        Raises:
            Flawed: its data have no end, its batches no number of tokens, or its warm-up is a share of nothing.
        """
        steps = self._steps(setting)
        place = (setting.texts["train"], steps)
        if place not in self._trains:
            self._trains[place] = part_of({**setting["train"], "steps": steps})
        setting = setting.with_part("train", self._trains[place])
        warmup = (setting["schedule"] or {}).get("warmup_steps", 0)
        if not isinstance(warmup, float):
            return setting
        if not steps:
            what = f"{warmup:g} is a share of the run, and the run has no updates"
            raise Flawed(Issue("unsupported", ("schedule", "warmup_steps"), what, "give train.steps"))
        return setting.with_part("schedule", part_of({**setting["schedule"], "warmup_steps": round(warmup * steps)}))

    def _steps(self, setting: InternedSetting) -> int:
        train = setting["train"]
        if train.get("epochs") is not None:
            epoch = self.updates(setting)
            if epoch is None:
                what = "the data of this task have no end, so that there are no epochs"
                raise Flawed(Issue("unsupported", ("train", "epochs"), what, "give train.steps"))
            return ceil(int(train["epochs"]) * epoch)
        if train.get("tokens_per_parameter") is not None:
            task = self.registries["task"][setting["task"]["kind"]].facts
            tokens = int(task.batch_tokens(setting["task"])) * int(train["accumulate"])
            if not tokens:
                what = f"the task '{setting['task']['kind']}' does not say how many tokens a batch has"
                raise Flawed(Issue("unsupported", ("train", "tokens_per_parameter"), what, "give train.steps"))
            if not self.reading and absent_packages():
                return UNKNOWN_EPOCH  # the size of a model is counted with torch
            parameters: int = self.registries["model"][setting["model"]["kind"]].facts.size(setting)[0]
            return ceil(float(train["tokens_per_parameter"]) * parameters / tokens)
        return int(train["steps"])

    def probe_steps(self, probe: Entry[Any], at: Json, setting: InternedSetting) -> Sequence[int]:
        """The steps at which a probe is applied.

        A probe with the fact ``trained`` sees nothing before the first update: a rule (``{every: k}``) then begins
        after it.

        Raises:
            ValueError: a step that the run does not have, or that such a probe has nothing to see at.
        """
        self.probe_count(probe, at, setting)
        steps = due_steps(at, setting["train"]["steps"], self._epoch(at, setting))
        if not probe.facts.trained or not steps or steps[0] != 0:
            return steps
        return steps[1:] if isinstance(steps, range) else tuple(step for step in steps if step)

    def probe_count(self, probe: Entry[Any] | None, at: Json, setting: InternedSetting) -> int:
        """How many steps ``probe_steps`` has, or a few more, or an evaluation where ``probe`` is None.

        Raises:
            ValueError: as ``probe_steps``.
        """
        steps = setting["train"]["steps"]
        number = due_count(at, steps, self._epoch(at, setting))
        moments = at if isinstance(at, list) else [at]
        at_start = bool({"init", 0} & {moment for moment in moments if not isinstance(moment, dict)})
        at_start = at_start or ("end" in moments and steps == 0)
        if probe is not None and probe.facts.trained and at_start:
            raise ValueError(f"'{probe.name}' looks at what training did, and at step 0 it has done nothing")
        return number

    def _epoch(self, at: Json, setting: InternedSetting) -> float | None:
        """Updates an epoch where a moment counts in epochs: for no other is a corpus read."""
        return self.updates(setting) if isinstance(at, dict) and "epochs" in at else None
