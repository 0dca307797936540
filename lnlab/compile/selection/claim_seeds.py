"""Seeds of single claims and of grids: on which seeds each variant runs and is measured, and each claim is judged."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.selection.requested import ResolvedRequest, ResolvedRequests
from lnlab.issues import Issue
from lnlab.keys import canonical, texts_in
from lnlab.registry import Choice
from lnlab.select.selection import selections_by_word, value_list, with_named_levels
from lnlab.select.variants import Members, Variants
from lnlab.setting import Setting
from lnlab.specfile.expressions import expression_of, named_parts
from lnlab.specfile.references import BEST, REFERENCE, ReferenceGroup, parse_reference
from lnlab.specfile.seeds import seed_spans

SeedsOfVariant = Mapping[int, frozenset[str]]
"""The seeds of a variant, each with the claims that alone ask for it. There are none where every probe is applied."""

_COMPARED = "compared"
"""Of a quantity that is measured against the variants which its claim selects anyway."""


def seeds_of_variants(
    variants: Variants,
    own_seeds: Sequence[tuple[int, ...]],
    claim_seeds: Mapping[str, tuple[int, ...]],
    requests: ResolvedRequests,
    registries: Registries,
) -> Sequence[SeedsOfVariant]:
    """The seeds of each variant: its own, then those of the claims that select it.

    Args:
        variants: that are judged.
        own_seeds: of each variant, by its grids.
        claim_seeds: the seeds of claims, by id.
        requests: the claims, resolved, and what they require.
        registries: of quantities.
    """
    seeds = [dict.fromkeys(own, frozenset[str]()) for own in own_seeds]
    for claim, further in claim_seeds.items():
        # Where every variant runs on these anyway, nothing needs to be selected.
        if all(set(further) <= set(own) for own in own_seeds):
            continue
        for request in (*requests.claims, *requests.requires):
            if request.path[1] == claim:
                for number in read_variants(variants, request, registries):
                    for seed in further:
                        if seed not in own_seeds[number]:
                            seeds[number][seed] = seeds[number].get(seed, frozenset()) | {claim}
    return seeds


def probes_read_by(claims: Collection[str], requests: ResolvedRequests, registries: Registries) -> frozenset[int]:
    """The probes, by their places, that may measure what these claims and their requirements read.

    All probes where there are no claims, or where one reads a quantity that does not say what it is made of.
    """
    every = frozenset(range(len(requests.probes)))
    if not claims or "quantity" not in registries:
        return every
    stored: set[str] = set()
    tables: set[str] = set()  # whose every row is read
    for request in (*requests.claims, *requests.requires):
        for name in _quantities_named(request.choice) if request.path[1] in claims else ():
            derived = registries["quantity"].entries.get(name)
            if derived is None:
                stored.add(name)
            elif derived.facts.table is not None:
                tables.add(derived.facts.table)
            elif derived.facts.of is not None:
                stored.update(derived.facts.of)
            else:
                return every
    facts = [registries["probe"][probe.choice["kind"]].facts for probe in requests.probes]
    return frozenset(
        place
        for place, of_probe in enumerate(facts)
        if of_probe.quantities is None or of_probe.table in tables or not stored.isdisjoint(of_probe.quantities)
    )


def _quantities_named(choice: Choice) -> Iterator[str]:
    """Every text of a choice, and the quantities that it names where it is an expression."""
    for text in texts_in(choice):
        expression = expression_of(text)
        yield from (text,) if expression is None else expression.quantities


def read_variants(variants: Variants, request: ResolvedRequest, registries: Registries) -> Members:
    """The variants whose rows a claim reads, those that its quantity is measured against included.

    Args:
        variants: that are judged.
        request: the claim, resolved, or what it requires.
        registries: of quantities.
    """
    read: Members = frozenset()
    derived = registries["quantity"].entries if "quantity" in registries else {}

    def shared(number: int, paths: Sequence[str]) -> str:
        """What a variant and those that it is measured against have in common: the task, and what is asked for."""
        setting = Setting(variants.settings[number])
        return canonical([setting.get("task"), *(setting.values(path) for path in paths)])

    for whole in selections_by_word(request.choice).values():
        selection = with_named_levels(whole, request.choice.get("over"), request.levels)
        selected = variants.selected(selection)
        read |= selected
        # Its quantity is measured against a reference, by default the best of all.
        names = [part for name in value_list(selection.get("quantity")) for part in named_parts(str(name))]
        against = [derived[name].facts.reference for name in names if name in derived]
        by_default = BEST if any(reference not in (None, _COMPARED) for reference in against) else None
        groups: Sequence[ReferenceGroup] = ()
        if (reference := selection.get(REFERENCE, by_default)) is not None:
            with suppress(ValueError):  # what is no reference is refused where the claim is judged on made-up rows
                groups = parse_reference(reference)
        for group in groups:
            own = {shared(number, group.same) for number in selected}
            read |= {n for n in variants.selected(group.conditions) if shared(n, group.same) in own}
    return read


def claims_of_grids(
    variants: Variants,
    own_seeds: Sequence[tuple[int, ...]],
    requests: ResolvedRequests,
    registries: Registries,
    stated: Mapping[str, tuple[int, ...]],
) -> tuple[dict[str, tuple[int, ...]], list[tuple[ResolvedRequest, Issue]]]:
    """The seeds of every claim that reads runs: those that are stated, else those of the runs that it reads.

    A claim that reads runs of grids with different seeds is an issue, returned with its request, unless its seeds are
    stated: a seed would be missing in some of them.
    """
    seeds = dict(stated)
    issues: list[tuple[ResolvedRequest, Issue]] = []
    for request in (*requests.claims, *requests.requires):
        claim = str(request.path[1])
        read = dict.fromkeys(own_seeds[number] for number in sorted(read_variants(variants, request, registries)))
        if claim in stated or not read:
            continue
        seeds.setdefault(claim, next(iter(read)))
        other = next((own for own in read if set(own) != set(seeds[claim])), None)
        if other is not None:
            what = f"it reads runs on the seeds {seed_spans(seeds[claim])} and others on {seed_spans(other)}"
            remedy = f"select one grid, or give it seeds: claim_seeds: {{{claim}: ...}}"
            issues.append((request, Issue("conflict", ("of",), what, remedy)))
    return seeds, issues
