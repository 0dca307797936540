"""Verdicts of default profiles beside those of committed reports: a table of the specs, and a line for each difference.

A default decides by its own data. Where its verdict is another than the committed one, its detail or its reason says
why, and both verdicts stand beside each other. What was run stays in STORE, so that a table can be made in parts.

python benchmarks/default_verdicts.py STORE [SPEC...]
"""

import sys
from pathlib import Path

import polars as pl

import lnlab

ROOT = Path(__file__).parents[1]


def committed(spec: Path) -> dict[str, str]:
    """Claim -> verdict of the report on real text."""
    folder = ROOT / "reports" / spec.stem / "real/data"
    return dict(pl.read_parquet(folder / "verdicts.parquet").select("claim", "verdict").iter_rows())


def main() -> None:
    """Print the table and the differences, spec by spec as they end."""
    store, *named = sys.argv[1:]
    specs = [Path(name) for name in named] or sorted((ROOT / "specs").glob("*.yaml"))
    print("| spec | claims | same | another word | decided in the report alone | in the default alone |")
    print("|---|--:|--:|--:|--:|--:|")
    differences = []
    for spec in specs:
        if not (ROOT / "reports" / spec.stem / "real").is_dir():
            continue
        real = committed(spec)
        done = lnlab.run(spec, store=store, progress=False)
        same = another = report_alone = default_alone = 0
        for verdict in done.verdicts:
            ours, theirs = verdict.verdict, real.get(verdict.claim, "no such claim")
            if ours == theirs:
                same += 1
                continue
            another += "undecided" not in (ours, theirs)
            report_alone += ours == "undecided"
            default_alone += theirs == "undecided"
            why = verdict.detail or verdict.reason
            differences.append(f"{spec.stem} {verdict.claim}: {ours} in the default, {theirs} in the report; {why}")
        counts = (len(done.verdicts), same, another, report_alone, default_alone)
        print(f"| {spec.stem} | {' | '.join(map(str, counts))} |", flush=True)
    print("\n" + "\n".join(f"- {line}" for line in differences))


if __name__ == "__main__":
    main()
