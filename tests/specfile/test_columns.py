"""The closed words of selections are the columns that workers really write."""

from lnlab.specfile.columns import COLUMNS, VOCABULARY
from lnlab.tables import WRITTEN_BY_WORKERS


def test_every_column_of_a_measured_row_may_be_selected():
    keys = {"measurement", "trajectory", "steps", "reason", "last_finite_loss", "parameters", "seconds"}
    written = {c for table in WRITTEN_BY_WORKERS.values() for c in table} - keys - {"device", "versions"}
    joined = {"run", "variant", "seed", "step"}
    derived = {"statistics", "rule"}
    assert set(COLUMNS) == written | joined | derived
    assert set(VOCABULARY) < set(COLUMNS)
