"""What ``run --decide`` saves: seconds of runs until as many claims are decided as with the same seeds for all of them.

Synthetic experiments: six settings are compared with one, in standard deviations of their seeds 0 (the edge), 0.3, 0.5,
1, 1.5 and 3 above it, and a run of a setting takes between 1 and 30 s. Both ways judge by the code that judges real
experiments, with ``looks: open``, from five seeds on. The other way doubles the seeds of everything until all is
decided. On the edge either word is wrong. Printed by hand, asserted nowhere.

python benchmarks/deciding.py [experiments]
"""

import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from lnlab.app.deciding import further_looks, next_looks
from lnlab.claims.judging import judge_all
from lnlab.claims.look_book import LookBook
from lnlab.claims.outlook import ON_THE_EDGE
from lnlab.tables import Results
from tests.claims.conftest import make_setting
from tests.support.results import results_of

DISTANCES = (0.0, 0.3, 0.5, 1.0, 1.5, 3.0)
FIRST = tuple(range(1, 6))
DECIDED = ("supported", "contradicted")


class Experiment:
    """Numbers that are drawn once for each variant and seed, and what a run of each variant takes."""

    def __init__(self, draw: np.random.Generator) -> None:
        self.draw, self.numbers = draw, dict[tuple[str, int], float]()
        self.seconds = {f"a{n}": float(30 ** draw.uniform()) for n in range(len(DISTANCES))} | {"b": 1.0}
        self.made = set[tuple[str, int]]()

    def spent(self) -> float:
        """Seconds of all runs so far."""
        return sum(self.seconds[variant] for variant, _ in self.made)

    def results(self) -> Results:
        """The rows of the runs so far."""
        runs = []
        for variant, seed in sorted(self.made):
            mean = DISTANCES[int(variant[1:])] if variant != "b" else 0.0
            value = self.numbers.setdefault((variant, seed), mean / 2**0.5 + self.draw.normal() / 2)
            site = {"step": 0, "quantity": "q", "stack": "decoder", "layer": None, "tensor": "w2", "value": value}
            run = {"variant": variant, "seed": seed, "setting": make_setting(variant), "steps": 0, "sites": [site]}
            runs.append(run | {"status": "finished", "reason": None, "done": 0, "axes": {"placement": variant}})
        return results_of(runs)


def claims_on(seeds: Mapping[str, Sequence[int]]) -> list[dict[str, object]]:
    of = [(claim, {"quantity": "q", "placement": claim}) for claim in seeds]
    common = {"says": "It is larger.", "kind": "difference", "to": {"placement": "b"}, "at_least": 0, "looks": "open"}
    return [{"id": claim, "of": selected, "seeds": list(seeds[claim]), **common} for claim, selected in of]


def history(draw: np.random.Generator, *, decide: bool) -> tuple[list[tuple[float, int]], bool]:
    """Seconds and decided claims after every round, and whether the claim on the edge was decided."""
    experiment, book = Experiment(draw), LookBook()
    seeds = {variant: FIRST for variant in experiment.seconds if variant != "b"}
    experiment.made |= set(product(experiment.seconds, FIRST))
    rounds = []
    while True:
        results, claims = experiment.results(), claims_on(seeds)
        verdicts = judge_all(claims, results, looks=book)
        undecided = [verdict.claim for verdict in verdicts if verdict.verdict not in DECIDED]
        rounds.append((experiment.spent(), len(seeds) - len(undecided)))
        if decide:
            looks = [x for x in further_looks(claims, results, verdicts) if len(x.seeds) <= ON_THE_EDGE]
            chosen = {look.claim: look.seeds for look in next_looks(looks, experiment.seconds, float("inf"))}
            experiment.made |= {
                (variant, seed) for claim, own in chosen.items() for variant in (claim, "b") for seed in own
            }
        else:
            more = tuple(range(1, 2 * max(map(len, seeds.values())) + 1))
            chosen = dict.fromkeys(undecided, more) if len(more) <= ON_THE_EDGE else {}
            experiment.made |= set(product(experiment.seconds, more if chosen else ()))
        if not chosen:
            return rounds, "a0" not in undecided
        seeds |= chosen


def main(experiments: int) -> None:
    """Print the seconds of both ways, and how often the claim on the edge was decided."""
    totals, wrong, decided = [0.0, 0.0], [0, 0], [0, 0]
    for n in range(experiments):
        both = [history(np.random.default_rng(n), decide=decide) for decide in (True, False)]
        reached = min(rounds[-1][1] for rounds, _ in both)
        for way, (rounds, edge) in enumerate(both):
            totals[way] += next(spent for spent, found in rounds if found >= reached)
            wrong[way] += edge
            decided[way] += rounds[-1][1]
    for way, name in enumerate(("--decide", "the same seeds for all")):
        shares = f"{decided[way] / experiments:.2f} of 6 decided, on the edge {wrong[way] / experiments:.1%}"
        print(f"{name}: {totals[way] / experiments:,.0f} s; {shares}")
    print(f"ratio {totals[0] / totals[1]:.2f}, {experiments} experiments")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
