"""Which quantities an experiment measures or derives, and on which splits, as its probes and its training say."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.epochs import probe_count, probe_steps
from lnlab.compile.resolved_sweep import ResolvedSweep
from lnlab.compile.selection.probe_times import MOST_MEASUREMENTS
from lnlab.compile.selection.resolved_requests import ResolvedRequests
from lnlab.registry import Entry
from lnlab.specfile.columns import EVALUATED, EVALUATION, RECORDED
from lnlab.specfile.expressions import Expression, expression_of


def splits_of(requests: ResolvedRequests, *, trained: bool) -> dict[str, tuple[str, ...]]:
    """Quantity of the curve -> its splits: of training, where any run trains, and of evaluations."""
    evaluated = {probe.choice["split"] for probe in requests.probes if probe.choice["kind"] == EVALUATION}
    evaluated |= {"validation"} if trained else set()
    splits_by_quantity: dict[str, tuple[str, ...]] = {name: ("train",) for name in RECORDED if trained}
    for name, splits in EVALUATED.items():
        if measured := tuple(split for split in splits if split in evaluated):
            splits_by_quantity[name] = (*splits_by_quantity.get(name, ()), *measured)
    return splits_by_quantity


def quantities_of(
    requests: ResolvedRequests, registries: Registries, curves: Collection[str], *, trained: bool
) -> list[str] | None:
    """Every quantity there will be, or None where a probe does not say what it measures.

    Quantities derived from training are included where any run trains.
    """
    kinds = [probe.choice["kind"] for probe in requests.probes if probe.choice["kind"] != EVALUATION]
    probes = [registries["probe"][kind].facts.quantities for kind in kinds]
    if any(names is None for names in probes):
        return None
    measured = [str(quantity) for names in probes for quantity in names or ()] + list(curves)
    return measured + [entry.name for entry in _derived(registries) if trained or not entry.facts.trained]


def measured_steps(
    requests: ResolvedRequests, registries: Registries, sweep: ResolvedSweep
) -> dict[str, tuple[int, ...]]:
    """Quantity -> the steps at which the shortest run has it to which its probe is applied.

    It leaves out curves, which a selection reads at their last step, quantities derived from several states, and probes
    that count epochs, whose steps depend on the corpus.
    """
    lengths = {
        (setting["train"]["steps"], frozenset(g)) for setting, g in zip(sweep.settings, sweep.grids, strict=True)
    }
    steps: dict[str, set[int]] = {}
    for probe in requests.probes:
        kind = probe.choice["kind"]
        if kind == EVALUATION or (isinstance(probe.at, dict) and "epochs" in probe.at):
            continue
        shortest = min((length for length, grids in lengths if probe.is_applied(grids)), default=0)
        entry = registries["probe"][kind]
        names = list(entry.facts.quantities or ())
        if entry.facts.table == "spectra":  # what it stores of each state is read as the numbers of a spectrum
            names = [entry.name for entry in _derived(registries) if entry.facts.table == "spectra"]
        with suppress(ValueError):  # a step beyond the end is told where it stands
            if probe_count(entry, probe.at, shortest, None) > MOST_MEASUREMENTS:
                continue  # refused as too many, and not written out to say so
            due = probe_steps(entry, probe.at, shortest, None)
            for name in names:
                steps.setdefault(name, set()).update(due)
    return {name: tuple(sorted(found)) for name, found in steps.items()}


def sources_of_quantities(registries: Registries) -> dict[str, tuple[str, ...]]:
    """What measures each quantity: kinds of probes, of a derived one those of what it is made of."""
    sources: dict[str, tuple[str, ...]] = {}
    for probe in registries["probe"]:
        sources |= dict.fromkeys(probe.facts.quantities or (), (probe.name,))
    for entry in _derived(registries):
        kinds = [kind for name in entry.facts.of or () for kind in sources.get(name, ())]
        sources.setdefault(entry.name, tuple(dict.fromkeys(kinds)))
    return sources


def stated_facts(registries: Registries, fact: str, expressions: Collection[str] = ()) -> dict[str, Any]:
    """Derived quantity or expression -> a fact of it, of those that state it."""
    stated = {entry.name: getattr(entry.facts, fact) for entry in _derived(registries)}
    for name in expressions:
        if (expression := expression_of(name)) is not None:
            stated[name] = _stated_by_operands(expression, stated, fact)
    return {name: value for name, value in stated.items() if value}


def _stated_by_operands(expression: Expression, stated: Mapping[str, Any], fact: str) -> Any:
    """What follows for an expression from a fact of its quantities, as in ``lnlab.select.quantity``."""
    told = [(operand, stated[operand.quantity]) for operand in expression.operands if stated.get(operand.quantity)]
    if fact != "told_by":
        return next((value for _, value in told), None)
    columns = (column for operand, of in told for column in of if column not in dict(operand.pins))
    return tuple(dict.fromkeys(columns))


def _derived(registries: Registries) -> list[Entry[Any]]:
    return list(registries["quantity"]) if "quantity" in registries else []
