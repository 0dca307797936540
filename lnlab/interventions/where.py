"""Where an intervention acts: sites by stack, layer, sublayer and tensor, each a word or a list, left out for all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from lnlab.errors import LabError, Problem, nearest
from lnlab.keys import Json
from lnlab.nn.sites import Site
from lnlab.specfile.columns import ENDS, VOCABULARY

ACTIVATIONS = ("in", "branch", "sum", "out")
WEIGHTS = tuple(word for word in VOCABULARY["tensor"] if word not in ACTIVATIONS)


@dataclass(frozen=True)
class OneOrMore:
    """What a key of ``where`` may be: one of the known words (or a number from 1), or a list of them."""

    known: tuple[str, ...]
    numbers: bool = False

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(tuple[Any, ...] | None))

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Json]:
        words: dict[str, Json] = {"enum": list(self.known)}
        one = {"anyOf": [{"type": "integer", "minimum": 1}, words]} if self.numbers else words
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}

    def read(self, given: Json) -> Json:
        """A tuple of what is known."""
        if given is None:
            return None
        several = tuple(given) if isinstance(given, list | tuple) else (given,)
        for each in several:
            if not (self.numbers and type(each) is int and each >= 1) and each not in self.known:
                remedy = f"a number from 1, {' or '.join(ENDS)}" if self.numbers else nearest(str(each), self.known)
                raise PydanticCustomError("word", "{remedy}", {"remedy": remedy})
        if not several:
            raise PydanticCustomError("word", "name at least one, or leave the key out")
        return several


class _Where(BaseModel):
    """Sites; a key that is left out takes all."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    stack: Annotated[tuple[str, ...] | None, OneOrMore(VOCABULARY["stack"])] = None
    layer: Annotated[tuple[int | str, ...] | None, OneOrMore(ENDS, numbers=True)] = None
    sublayer: Annotated[tuple[str, ...] | None, OneOrMore(VOCABULARY["sublayer"])] = None

    def chosen(self, sites: Sequence[Site], what: str) -> list[Site]:
        """Those of the sites that meet every condition, in their order.

        Raises:
            LabError: there is none, and which condition leaves nothing.
        """
        left, last = list(sites), _last_layers(sites)
        for key, wanted in self:
            if wanted is not None:
                before, left = left, [site for site in left if _meets(site, key, wanted, last)]
                if not left:
                    raise LabError(_nothing(what, key, wanted, before))
        return left


class Activations(_Where):
    """Activations of the stream; which of them must be said."""

    tensor: Annotated[tuple[str, ...], OneOrMore(ACTIVATIONS)]


class Weights(_Where):
    """Weights, biases and all else that is trained."""

    tensor: Annotated[tuple[str, ...] | None, OneOrMore(WEIGHTS)] = None


EVERYWHERE = Weights()


def _last_layers(sites: Sequence[Site]) -> dict[str | None, int]:
    """By stack."""
    last: dict[str | None, int] = {}
    for site in sites:
        last[site.stack] = max(site.layer or 0, last.get(site.stack, 0))
    return last


def _meets(site: Site, key: str, wanted: Sequence[Json], last: Mapping[str | None, int]) -> bool:
    if key != "layer":
        return getattr(site, key) in wanted
    names = {site.layer, "first" if site.layer == 1 else None, "last" if site.layer == last[site.stack] else None}
    return bool((names - {None}) & set(wanted))


def _nothing(what: str, key: str, wanted: Sequence[Json], before: Sequence[Site]) -> Problem:
    said = f"no {what} {'there ' if key != 'stack' else ''}has {key} {' or '.join(map(str, wanted))}"
    there = dict.fromkeys(str(word) for site in before if (word := getattr(site, key)) is not None)
    return Problem(f"interventions.where.{key}", said, f"there is {', '.join(there) or 'none'}")
