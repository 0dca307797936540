"""Which wrong signs, comparisons and numbers the tests notice, behind intervals, verdicts, curvature, keys and stores.

A sample of cosmic-ray's mutants is tried in copies of the last commit: each alone, against the tests of its package.
Survivors are tried again against those that `make test` leaves out, so that the last line says what it costs to run
these by night. Each result is a line of a file. The same command goes on from there.

python benchmarks/mutation.py RESULTS.jsonl [mutants]
"""

import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "lnlab/claims": "tests/claims",
    "lnlab/analyse/statistics": "tests/analyse tests/claims",
    "lnlab/curvature": "tests/curvature",
    "lnlab/store": "tests/store tests/test_files.py",
    "lnlab/compile": "tests/compile tests/specfile",
    "lnlab/select": "tests/analyse tests/claims",
}
"""Package -> the folders of its tests."""
OPERATORS = (
    "NumberReplacer",
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "Pow_Mul")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Eq_NotEq", "NotEq_Eq")),
    *("ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub"),
)
"""What a slip of the pen changes. Most others of cosmic-ray's operators give code that fails wherever it is run."""
SEED = 0
LONGEST = 900.0
"""Seconds that the tests of a mutant may take. One that takes longer does not end by itself: it is noticed."""
NOTHING_RAN = re.compile(r"^(no tests ran|\d+ deselected)\b")
"""The last line of pytest where no test has the marker, which its exit code calls a failure."""


def sampled_mutants(number: int) -> list[MutationSpec]:
    """A sample of the mutants of all packages, in random order: the same for the same code."""
    every = []
    for package in TESTS:
        for path in sorted(Path(package).rglob("*.py")):
            nodes = list(ast_nodes(get_ast_from_path(path)))
            for name in (f"core/{word}" for word in OPERATORS):
                operator = get_operator(name)()
                places = [place for node in nodes for place in operator.mutation_positions(node)]
                every += [MutationSpec(path, name, n, *place) for n, place in enumerate(places)]
    random.Random(SEED).shuffle(every)
    print(f"{min(number, len(every))} of {len(every):,} mutants", flush=True)
    return every[:number]


def work_in_copy(copies: str) -> None:
    """Have this process work in a copy of the last commit, whose tests import the code of the copy."""
    copy = tempfile.mkdtemp(dir=copies)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), copy], check=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", copy], check=True)
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": copy, "OMP_NUM_THREADS": "1"}


def try_mutant(mutant: MutationSpec) -> str:
    """Which tests notice a mutant: those of ``make test``, those that it leaves out, or none."""
    package = next(package for package in TESTS if mutant.module_path.is_relative_to(package))
    for name, marker in (("day", "not torture and not nightly"), ("night", "torture or nightly")):
        marked = shlex.join(["-m", marker])
        command = f"{sys.executable} -m pytest -x -q -p no:xdist -p no:cacheprovider {marked} {TESTS[package]}"
        result = mutate_and_test([mutant], command, LONGEST)
        last = (result.output or "").rstrip().rpartition("\n")[2]
        if result.test_outcome != TestOutcome.SURVIVED and not NOTHING_RAN.search(last):
            return name
    return "none"


def main(path: Path, number: int = 240) -> None:
    """Try what has no result yet, and print the scores."""
    done = {json.loads(line)["mutant"]: json.loads(line)["noticed"] for line in path.open()} if path.exists() else {}
    os.chdir(ROOT)
    mutants = {f"{m.module_path}:{m.start_pos[0]}:{m.operator_name}:{m.occurrence}": m for m in sampled_mutants(number)}
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as copies,
        ProcessPoolExecutor(initializer=work_in_copy, initargs=(copies,)) as pool,
        path.open("a") as file,
    ):
        left = {pool.submit(try_mutant, mutant): name for name, mutant in mutants.items() if name not in done}
        for future in as_completed(left):
            done[left[future]] = future.result()
            print(json.dumps({"mutant": left[future], "noticed": future.result()}), file=file, flush=True)
            print(f"{len(done)} of {len(mutants)}: {left[future]}: {future.result()}", flush=True)
    counts = Counter(done[name] for name in mutants)
    day, night = (counts[name] / len(mutants) for name in ("day", "night"))
    print(f"of {len(mutants)} mutants make test notices {day:.1%}, and those of the night {night:.1%} more")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), *map(int, sys.argv[2:]))
