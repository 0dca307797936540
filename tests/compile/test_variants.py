"""Which variants a selection takes, against what the frames will say of the same settings."""

import polars as pl
import pytest

from lnlab.keys import canonical
from lnlab.select.settings import settings_of
from lnlab.select.variants import Variants
from lnlab.tables import Results, frame, table_schema

SETTINGS = [
    {"encoder": {"norm": {"kind": "batch", "naive": False}}, "schedule": {"anchor": None}},
    {"encoder": {"norm": {"kind": "batch", "naive": True}}, "schedule": {"anchor": 4}},
    {"encoder": {"norm": {"kind": "layer"}}, "schedule": None},
]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"encoder.norm.naive": False}, {0}),
        ({"encoder.norm.naive": None}, {2}),
        ({"encoder.norm.naive": [False, None]}, {0, 2}),
        ({"schedule.anchor": None}, {0, 2}),
        ({"schedule": None}, {2}),
        ({"encoder.norm": "batch", "encoder.norm.naive": [True, None]}, {1}),
    ],
    ids=str,
)
def test_null_takes_what_has_nothing_there_before_the_run_as_after_it(selection, expected):
    assert Variants(SETTINGS).selected(selection) == expected
    rows = [{"run": str(i), "variant": str(i), "seed": 1, "setting": canonical(s)} for i, s in enumerate(SETTINGS)]
    runs = pl.DataFrame(rows, schema_overrides={k: v for k, v in table_schema("runs").items() if k in rows[0]})
    assert {int(v) for v in settings_of(Results(runs, frame("axes", []))).select(selection)["variant"]} == expected
