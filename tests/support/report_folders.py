"""The data of a report in a folder, without a page beside them."""

from lnlab.report.folder import data_files, write_files
from lnlab.store.kept import results_as_files


def save_folder(out, facts, results, verdicts):
    """Write the data alone, with every row. Pages beside them stay as they are."""
    return write_files(out, data_files(facts, results, verdicts, (), results_as_files(results), out), ("data",))
