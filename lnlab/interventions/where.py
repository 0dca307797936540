"""Where an intervention acts: sites by stack, layer, sublayer and tensor, each a word or a list, left out for all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from lnlab.errors import LabError, listed, nearest
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.nn.sites import Site
from lnlab.specfile.columns import LAYER_ENDS, VOCABULARY

ACTIVATIONS = ("in", "branch", "sum", "out")
WEIGHTS = tuple(word for word in VOCABULARY["tensor"] if word not in (*ACTIVATIONS, "logits"))


@dataclass(frozen=True)
class OneOrMore:
    """The type of a key of ``where``: one of the known words (or a number from 1), or a list of them."""

    known: tuple[str, ...]
    numbers: bool = False

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(tuple[Any, ...] | None))

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Json]:
        words: dict[str, Json] = {"enum": list(self.known)}
        one = {"anyOf": [{"type": "integer", "minimum": 1}, words]} if self.numbers else words
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}

    def read(self, value: Json) -> Json:
        """A tuple of known words or numbers."""
        if value is None:
            return None
        several = tuple(value) if isinstance(value, list | tuple) else (value,)
        for word in several:
            if not (self.numbers and type(word) is int and word >= 1) and word not in self.known:
                remedy = (
                    f"a number from 1, {' or '.join(LAYER_ENDS)}" if self.numbers else nearest(str(word), self.known)
                )
                raise PydanticCustomError("word", "{remedy}", {"remedy": remedy})
        if not several:
            raise PydanticCustomError("word", "name at least one, or leave the key out")
        return several


class _Where(BaseModel):
    """Conditions on sites. A key that is left out selects all."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    stack: Annotated[tuple[str, ...] | None, OneOrMore(VOCABULARY["stack"])] = None
    layer: Annotated[tuple[int | str, ...] | None, OneOrMore(LAYER_ENDS, numbers=True)] = None
    sublayer: Annotated[tuple[str, ...] | None, OneOrMore(VOCABULARY["sublayer"])] = None

    def select(self, sites: Sequence[Site], what: str) -> list[Site]:
        """Return the sites that meet every condition, in their order.

        Raises:
            LabError: there is none, and which condition leaves nothing.
        """
        left = list(sites)
        last: dict[str | None, int] = {}  # by stack, the number that `last` stands for
        for site in sites:
            last[site.stack] = max(site.layer or 0, last.get(site.stack, 0))
        for key, allowed in self:
            if allowed is not None:
                before = left
                left = [site for site in left if _meets(site, key, allowed, last)]
                if not left:
                    message = (
                        f"no {what} {'there ' if key != 'stack' else ''}has {key} {' or '.join(map(str, allowed))}"
                    )
                    available = dict.fromkeys(str(word) for site in before if (word := getattr(site, key)) is not None)
                    remedy = f"there is {listed(available, str(allowed[0]) if allowed else '') or 'none'}"
                    raise LabError(Issue("unsupported", f"interventions.where.{key}", message, remedy))
        return left


class Activations(_Where):
    """Activations of the stream. ``tensor`` has no default."""

    tensor: Annotated[tuple[str, ...], OneOrMore(ACTIVATIONS)]


class Weights(_Where):
    """Weights, biases and every other trained parameter."""

    tensor: Annotated[tuple[str, ...] | None, OneOrMore(WEIGHTS)] = None


EVERYWHERE = Weights()


def _meets(site: Site, key: str, allowed: Sequence[Json], last: Mapping[str | None, int]) -> bool:
    if key != "layer":
        return getattr(site, key) in allowed
    names = {site.layer, "first" if site.layer == 1 else None, "last" if site.layer == last[site.stack] else None}
    return bool((names - {None}) & set(allowed))
