"""The digest of results moves with what was measured, and with nothing else."""

from dataclasses import replace

import polars as pl

from tests.support.results_digest import results_digest


def test_the_last_digit_null_nan_and_empty_text_all_matter(full, plan):
    results = full.results(plan.digest)
    sites = results.tables["sites"]

    def with_sites(rows):
        return results_digest(replace(results, tables={**results.tables, "sites": rows}))

    before = results_digest(results)
    assert with_sites(sites.reverse()) == before
    changes = [
        sites.with_columns(value=pl.col("value") * (1 + 2**-52)),
        sites.with_columns(value=pl.col("value").fill_nan(None)),
        sites.with_columns(stack=pl.lit("")),
        sites.with_columns(stack=pl.lit("null")),
        sites.head(-1),
    ]
    digests = {before, *map(with_sites, changes)}
    assert len(digests) == 1 + len(changes)
