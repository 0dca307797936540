"""Build the models of plans without memory, and what acts on them, once for each distinct model.

A model is built whole for every structure: kinds, depths, heads, and everything that acts on it. Each init is given to
the same model. Models of one structure that differ in width, feed-forward width, dropout or task have the same sites.
For each further size only one layer a stack is built. It already shows a number that does not fit, such as heads that
do not divide the width.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical

if TYPE_CHECKING:
    from torch import nn

    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.compile.work import ResolvedSetting
    from lnlab.registry import Choice
    from lnlab.specfile.load import SpecDocument

Places = Mapping[str, Mapping[str, Sequence[Mapping[str, Json]]]]
"""Text of a probe -> quantity -> the columns of every place of its numbers. What is not known is left out."""
MODEL_PARTS = ("task", "model", "encoder", "decoder", "init", "optimizer", "interventions")
"""The parts of a setting that a model is built of, with all that acts on it."""
RULE_PARTS = ("task", "schedule", "train")
"""The parts of a setting that schedules and stopping rules are built of."""
SIZES = ("d_model", "d_ff", "dropout")
"""The parameters of a model on which its sites do not depend."""
MOST_HELD = 64
"""The number of models that are held at once. Each has no values and a thousand modules."""


def variants_by_parts(plan: "Plan", part_names: Sequence[str] = MODEL_PARTS) -> list[list[str]]:
    """The variants of a plan in groups whose settings agree in the parts of these names.

    With the default parts, all variants of a group have the same model.
    """
    variants: dict[str, list[str]] = {}
    for variant, setting in plan.settings.items():
        variants.setdefault(_text(setting, part_names), []).append(variant)
    return list(variants.values())


@dataclass
class BuiltModels:
    """What was built so far, of any of the profiles of a spec.

    Attributes:
        known: the registries.
        sound: the texts of what was built without a mistake.
        whole: the last models that were built whole, by the text of their structure.
        places: where the probes measure, by the text of a structure and the probes.
    """

    known: "Registries"
    sound: set[str] = field(default_factory=set)
    whole: "dict[str, nn.Module]" = field(default_factory=dict)
    places: dict[str, Places] = field(default_factory=dict)

    def build(self, document: "SpecDocument", plan: "Plan") -> dict[str, Places]:
        """Build the models and rules of a plan.

        Returns:
            By variant where its probes measure.

        Raises:
            LabError: everything that cannot be built, each with its line and its variant.
        """
        from lnlab.execute.meta import INITIALIZED_PARTS, build_rules

        problems: dict[str, list[Issue]] = {variants[-1]: [] for variants in variants_by_parts(plan)}
        places: dict[str, Places] = {}
        shared = {id(choice): choice for _, _, choice, _ in plan.needs}  # by thousands of measurements
        probes = list({canonical(choice): choice for choice in shared.values()}.values())
        for variants in variants_by_parts(plan, INITIALIZED_PARTS):
            # Only the last variant of each model is built; the others have its places.
            for variant in filter(problems.__contains__, variants):
                with _located(document, plan, variant, problems[variant]):
                    places |= dict.fromkeys(variants, self._build(plan.settings[variant], probes))
        everything = [problem for problems_of_one in problems.values() for problem in problems_of_one]
        for variants in variants_by_parts(plan, RULE_PARTS):
            setting = plan.settings[variants[-1]]
            if (text := _text(setting, RULE_PARTS)) not in self.sound:
                before = len(everything)
                with _located(document, plan, variants[-1], everything):
                    build_rules(setting, self.known)
                self.sound |= {text} if len(everything) == before else set()
        if everything:
            raise LabError(*everything)
        return places

    def _build(self, setting: "ResolvedSetting", probes: "Sequence[Choice]") -> Places:
        """Build what is new of a setting, its structure, its sizes and its optimizer; return where its probes measure.

        What was built is remembered in ``sound``, ``whole`` and ``places``.

        Raises:
            LabError: what cannot be built, and why.
        """
        from torch import nn

        from lnlab.compile.setting_paths import stacks_of  # pydantic, which no help page waits for
        from lnlab.execute.meta import (
            INITIALIZED_PARTS,
            initialize_on_meta,
            initialized_on_meta,
            intervene_on_meta,
            optimizer_on_meta,
        )

        stacks = stacks_of(setting)
        sizes = SIZES if stacks else ()  # of a model of somebody's own no parameter is known to be a size
        parts: dict[str, Json] = {name: setting.get(name) for name in ("encoder", "decoder")}
        parts["model"] = {key: value for key, value in setting["model"].items() if key not in sizes}
        parts["task"] = setting["task"]["kind"] if stacks else setting["task"]
        structure = canonical(parts)
        initialized = canonical([structure, setting["init"]])
        shallow = {**setting, **{stack: {**setting[stack], "layers": 1} for stack in stacks}}
        size = _text(shallow, INITIALIZED_PARTS)
        optimizer = setting["optimizer"]
        if optimizer is not None and not setting["interventions"]:
            # A rate or a decay changes nothing of what it acts on; a word or a switch may.
            optimizer = {key: value for key, value in optimizer.items() if isinstance(value, bool | str)}
        acting = canonical([initialized, optimizer, setting["interventions"]])
        measured = canonical([structure, probes])
        if not {initialized, acting} <= self.sound or measured not in self.places:
            if structure not in self.whole:
                self.whole[structure] = initialized_on_meta(setting, self.known)
                self.sound |= {initialized, size}
            elif initialized not in self.sound:
                initialize_on_meta(self.whole[structure], setting, self.known)
                self.sound.add(initialized)
            model = self.whole[structure] = self.whole.pop(structure)  # the last one is the first to be held on to
            if len(self.whole) > MOST_HELD:
                del self.whole[next(iter(self.whole))]
            intervene_on_meta(model, setting, self.known)
            if measured not in self.places:
                self.places[measured] = places_of(model, probes, self.known)
            self.sound |= {acting, canonical(setting["optimizer"])}
        if size not in self.sound:
            try:
                initialized_on_meta(shallow, self.known)
            except LabError:  # a piece may need more than one layer
                initialized_on_meta(setting, self.known)
            self.sound.add(size)
        if (chosen := canonical(setting["optimizer"])) not in self.sound:
            on: nn.Module = nn.Linear(1, 1, device="meta")
            if self.known["optimizer"][setting["optimizer"]["kind"]].facts.splits:  # it asks where weights are
                on = self.whole.get(structure) or initialized_on_meta(shallow, self.known)
            optimizer_on_meta(on, setting, self.known)
            self.sound.add(chosen)
        return self.places[measured]


def places_of(model: "nn.Module", probes: "Sequence[Choice]", known: "Registries") -> Places:
    """Where each probe will measure each of its quantities in a model, as the probes state it.

    Raises:
        LabError: a parameter has no address.
    """
    facts = {canonical(choice): known["probe"][choice["kind"]].facts for choice in probes}
    return {
        text: facts[text].sites(model, choice)
        for text, choice in zip(facts, probes, strict=True)
        if facts[text].sites is not None
    }


def _text(setting: "ResolvedSetting", part_names: Sequence[str]) -> str:
    return canonical({name: setting.get(name) for name in part_names})


@contextmanager
def _located(document: "SpecDocument", plan: "Plan", variant: str, problems: list[Issue]) -> Iterator[None]:
    """Turn a LabError inside the block into entries of ``problems``, with the line of the spec and the sweep point."""
    from lnlab.compile.reference.explain import call_label

    try:
        yield
    except LabError as error:
        point = " ".join(f"{axis}={call_label(value)}" for axis, value in plan.points[variant].items())
        for problem in error.issues:
            where = document.where(tuple(problem.where.split(".")))
            problems.append(replace(problem, place=": ".join(filter(None, (where, point, problem.where)))))
