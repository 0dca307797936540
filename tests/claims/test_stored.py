"""A verdict comes back from its row as it went in."""

import math

from lnlab import tables
from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_rows import verdict_frame, verdict_from_row, verdict_row, verdicts_from_frame
from tests.report.conftest import verdict

VERDICT = verdict("grows", {10: 2.0, 2: 1.75, 1: 2.25}, kind="trend", primary=True, low=1.1)


def test_a_verdict_survives_its_row_and_its_frame_also_ill_posed_or_with_nan():
    assert verdict_from_row(verdict_row(VERDICT, "digest")) == VERDICT
    table = verdict_frame([VERDICT, VERDICT])
    assert table.schema == tables.table_schema("verdicts")
    assert verdicts_from_frame(table) == [VERDICT, VERDICT]
    blank = dict.fromkeys(("estimate", "low", "high", "region_low", "region_high"))
    given = {"verdict": "ill-posed", "statistic": "trend", "n": 0, "inside": 0, "seeds": {}, "scope": "", **blank}
    ill = Verdict(**{**vars(VERDICT), **given, "reason": "q.yaml:3:9: claims.grows.of: seed 1 has 2 numbers"})
    assert verdicts_from_frame(verdict_frame([ill, VERDICT])) == [ill, VERDICT]
    nan = Verdict(**{**vars(VERDICT), "seeds": {1: math.nan}})
    assert math.isnan(verdict_from_row(verdict_row(nan)).seeds[1])


def test_the_row_holds_the_seeds_in_order_and_the_digest_of_what_was_judged():
    row = verdict_row(VERDICT, "digest")
    assert row["seeds"] == '{"1": 2.25, "2": 1.75, "10": 2.0}'
    assert row["rows"] == "digest"
    assert row.keys() == tables.JUDGED["verdicts"].keys()
