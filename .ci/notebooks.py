"""Execute the notebooks of docs/examples in a folder of their own, and keep their outputs: ``make notebooks``."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbclient
import nbformat

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"


def executed(notebook: nbformat.NotebookNode, folder: Path, *, allow_errors: bool = False) -> nbformat.NotebookNode:
    """The notebook with its outputs. It finds the tables of docs/examples and the committed reports beside it."""
    for path in (*EXAMPLES.glob("*.csv"), ROOT / "reports"):
        (folder / path.name).symlink_to(path)
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        resources={"metadata": {"path": str(folder)}},
        kernel_name="python3",
        record_timing=False,
        allow_errors=allow_errors,
    )
    return client.execute()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with TemporaryDirectory() as folder:
            notebook = executed(nbformat.read(name, as_version=4), Path(folder))
        nbformat.write(notebook, name)
        print(name)
