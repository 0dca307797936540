"""Claims as their sections state them, written out: one list, each claim with the whole of its selection.

    of   = {quantity, where} of the section, replaced key by key by the claim's own. Null removes an inherited key
    over = x of the section, where the kind of the claim takes one and its selection does not pin x. A path is always
           inherited. A column is inherited only with the section's quantity, as another may have no layers or no steps

A claim that reads no rows inherits none of these. A claim about the edges of a causal graph has those of its section.

A claim with ``for_each`` is written out once for each value, and one that requires another by its id has that one's
test. What is malformed is left as it is: the grammar reports it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product, zip_longest

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.sweep.overlay import MergedSpec, grids_of, merge_spec
from lnlab.issues import Issue, Where
from lnlab.keys import Json, canonical
from lnlab.select.selection import value_list
from lnlab.specfile.columns import ALL, COLUMNS, GRID, METHOD, TIMES
from lnlab.specfile.experiment import SETTING
from lnlab.specfile.expressions import with_names
from lnlab.specfile.load import SpecDocument
from lnlab.specfile.values import value_label

FOR_EACH = "for_each"
"""The key of a claim that is written out once for each value of its axes."""
_NOT_PART_OF_A_TEST = (
    *("id", "says", "role", "primary", "because", "source", "published", "calibration", "requires", "looks"),
)


@dataclass
class _Claims:
    """The claims written out so far, and where each part of them stands in the spec."""

    merged: MergedSpec
    registries: Registries
    claims: list[Json] = field(default_factory=list)
    origins: dict[Where, Where] = field(default_factory=dict)

    def add(self, claim: Json, section: Json, place: Where, section_place: Where) -> list[str]:
        """Write a claim out, and return its ids: one, or one for each value."""
        if not isinstance(claim, dict):
            self.origins["claims", len(self.claims)] = place
            self.claims.append(claim)
            return []
        ids = []
        whole, inherited = self._inherit(claim, section, section_place)
        axes = whole.get(FOR_EACH)
        if FOR_EACH in whole and (not isinstance(axes, dict) or not axes or [] in axes.values()):
            what, remedy = f"found {canonical(axes)}", "write {axis: [value, ...]} or {axis: all}"
            self.merged.issues.append(Issue("wrong-type", ("claims", len(self.claims), FOR_EACH), what, remedy))
            whole = {key: value for key, value in whole.items() if key != FOR_EACH}
        for single in _one_for_each(whole, self.merged.data, self.merged.grid_names):
            here: Where = ("claims", len(self.claims))
            self.origins[here] = place
            self.origins |= {(*here, *path): origin for path, origin in inherited.items()}
            axes = whole.get(FOR_EACH)
            if isinstance(axes, dict):
                self.origins |= {(*here, "of", axis): (*place, FOR_EACH, axis) for axis in axes}
            self.claims.append(single)
            ids += [single["id"]] if isinstance(single.get("id"), str) else []
        return ids

    def _inherit(
        self, claim: dict[str, Json], section: Json, place: Where
    ) -> tuple[dict[str, Json], dict[Where, Where]]:
        """The claim with what it takes from its section, and where that stands: path in the claim -> in the spec."""
        own = claim.get("of", {})
        if not isinstance(section, dict) or not isinstance(own, dict):
            return claim, {}
        if not self._takes("of", claim):
            if "edges" in claim or "edges" not in section or not self._takes("edges", claim):
                return claim, {}
            return {**claim, "edges": section["edges"]}, {("edges",): (*place, "edges")}
        stated: dict[str, tuple[Json, Where]] = {}
        if "quantity" in section:
            stated["quantity"] = (section["quantity"], (*place, "quantity"))
        where = section.get("where")
        stated |= (
            {key: (value, (*place, "where", key)) for key, value in where.items()} if isinstance(where, dict) else {}
        )
        taken = {key: entry for key, entry in stated.items() if key not in own}
        of = {key: value for key, (value, _) in taken.items()}
        of |= {key: value for key, value in own.items() if value is not None or key not in stated}
        whole = {**claim, "of": of}
        origins: dict[Where, Where] = {("of", key): origin for key, (_, origin) in taken.items()}
        known = self.registries.get("section")
        entry = known.entries.get(str(section.get("kind"))) if known is not None else None
        parameter = entry.keywords.get("x") if entry else None
        x = section.get("x", parameter.default if parameter else None)
        if not isinstance(x, str):
            return whole, origins
        # Where x is a quantity or the epoch, say, no claim can go over it.
        goes_over = x.partition(".")[0] in (*SETTING, METHOD, TIMES)
        if x in COLUMNS:
            goes_over = of.get("quantity") == section.get("quantity")
        if goes_over and "over" not in claim and x not in of and self._takes("over", claim):
            whole["over"] = x
            origins["over",] = (*place, "x") if "x" in section else (*place, "kind")
        return whole, origins

    def _takes(self, parameter: str, claim: dict[str, Json]) -> bool:
        """Whether the kind of a claim has a parameter. An unknown kind is assumed to read rows, and no more."""
        known = self.registries.get("claim")
        entry = known.entries.get(str(claim.get("kind"))) if known is not None else None
        return parameter in entry.keywords if entry is not None else parameter == "of"


def claim_ids(merged: MergedSpec) -> list[str]:
    """The ids that the claims of a spec have, flawed or not, once they are written out."""
    claims = merged.data.get("claims")
    ids = [claim.get("id") for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []
    return [word for word in ids if isinstance(word, str)]


def whole_spec(
    document: SpecDocument, profile: str | None, overrides: Sequence[str], registries: Registries
) -> MergedSpec:
    """A document merged with a profile and overrides, its claims written out."""
    merged = merge_spec(document, profile, overrides)
    return with_claims_written_out(merged, registries)


def with_claims_written_out(merged: MergedSpec, registries: Registries) -> MergedSpec:
    """The merged spec with all claims in one list, and sections that name theirs by id. Its origins lead back.

    Every expression has become its name.
    """
    report = merged.data.get("report")
    if isinstance(report, list):
        report = with_names(report, ("report",), merged.issues)
    written = _Claims(merged, registries)
    sections = []
    for number, section in enumerate(report if isinstance(report, list) else ()):
        stated = section.get("claims") if isinstance(section, dict) else None
        if not isinstance(stated, list):
            sections.append(section)
            continue
        ids: list[Json] = []
        for i, claim in enumerate(stated):
            place: Where = ("report", number)
            ids += [claim] if isinstance(claim, str) else written.add(claim, section, (*place, "claims", i), place)
        sections.append({**section, "claims": ids})
    free = merged.data.get("claims")
    for number, claim in enumerate(free if isinstance(free, list) else ()):
        named = with_names(claim, ("claims", len(written.claims)), merged.issues)
        written.add(named, None, ("claims", number), ())
    data = dict(merged.data)
    if isinstance(report, list):
        data["report"] = sections
    if isinstance(free, list) or written.claims:
        data["claims"] = _with_named_requirements(written.claims)
    return replace(merged, data=data, origins={**merged.origins, **written.origins})


def _one_for_each(claim: dict[str, Json], data: Mapping[str, Json], names: Sequence[str]) -> Iterator[dict[str, Json]]:
    """The claim as it is, or one for each combination of the values of ``for_each``."""
    axes = claim.get(FOR_EACH)
    if not isinstance(axes, dict) or not isinstance(claim.get("of", {}), dict):
        yield claim
        return
    grid = claim.get("of", {}).get(GRID)
    swept = [own for own, name in zip_longest(grids_of(dict(data)), names) if grid is None or name in value_list(grid)]
    values = [
        [value for own in swept for value in value_list(own.get(axis, []))] if chosen == ALL else value_list(chosen)
        for axis, chosen in axes.items()
    ]
    plain = {key: value for key, value in claim.items() if key != FOR_EACH}
    for point in product(*values):
        labels = {axis: value_label(value) for axis, value in zip(axes, point, strict=True)}
        single = {**plain, "of": {**claim.get("of", {}), **dict(zip(axes, point, strict=True))}}
        if isinstance(claim.get("id"), str):
            single["id"] = f"{claim['id']}[{', '.join(labels.values())}]"
        for key in ("says", "source"):
            if isinstance(text := claim.get(key), str):
                for axis, word in labels.items():
                    text = text.replace(f"{{{axis}}}", word)
                single[key] = text
        yield single


def _with_named_requirements(claims: list[Json]) -> list[Json]:
    """Claims with every requirement written out: the id of another claim is replaced by that claim's test."""
    by_id = {claim["id"]: claim for claim in claims if isinstance(claim, dict) and isinstance(claim.get("id"), str)}

    def test_of(required: Json) -> Json:
        other = by_id.get(required) if isinstance(required, str) else None
        if other is None:
            return required
        parts = {k: v for k, v in other.items() if k not in _NOT_PART_OF_A_TEST}
        if not isinstance(parts.get("law"), str):  # a word is a parameter of the kind
            parts.pop("law", None)
        return {"says": other.get("says"), **parts}

    def with_tests(claim: Json) -> Json:
        required = claim.get("requires") if isinstance(claim, dict) else None
        if isinstance(required, str):
            return {**claim, "requires": [test_of(required)]}
        return {**claim, "requires": [test_of(each) for each in required]} if isinstance(required, list) else claim

    return [with_tests(claim) for claim in claims]
