"""Records on their way to trackers, by a thread of its own: training waits for no server, and ends by none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import fsum, sqrt
from queue import SimpleQueue
from threading import Thread

from lnlab.recorded.folder import Block
from lnlab.trackers.tracker import Destination, LiveHead, LiveRun

_SECONDS_AT_END = 60.0
"""How long the end of a run waits for what trackers have not taken yet."""


class LiveExport:
    """Sends what is recorded to trackers. One that fails is reported once, and gets nothing more."""

    def __init__(self, destinations: Sequence[Destination], head: LiveHead, report: Callable[[str], None]) -> None:
        self._destinations, self._head, self._report = destinations, head, report
        self._queue: SimpleQueue[tuple[int, Mapping[str, float]] | str] = SimpleQueue()
        self._thread = Thread(target=self._send, name="lnlab export", daemon=True)
        self._thread.start()

    def put(self, step: int, values: Mapping[str, float]) -> None:
        """Have the values of a step sent."""
        if values:
            self._queue.put((step, values))

    def close(self, status: str, *, wait: bool = True) -> None:
        """End the run in each tracker, and wait until all is sent."""
        self._queue.put(status)
        if wait:
            self._thread.join(_SECONDS_AT_END)
            if self._thread.is_alive():
                names = ", ".join(map(str, self._destinations))
                self._report(f"{names}: did not take all within {_SECONDS_AT_END:.0f} s; {self._remedy}")

    @property
    def _remedy(self) -> str:
        return f"the run is whole in {self._head.folder}"

    def _send(self) -> None:
        runs: dict[Destination, LiveRun] = {}
        for destination in self._destinations:
            with self._reporting(destination, runs):
                runs[destination] = destination.open_live(self._head)
        while not isinstance(item := self._queue.get(), str):
            for destination, run in list(runs.items()):
                with self._reporting(destination, runs):
                    run.log(*item)
        for destination, run in list(runs.items()):
            with self._reporting(destination, runs):
                run.close(item)

    @contextmanager
    def _reporting(self, destination: Destination, runs: dict[Destination, LiveRun]) -> Iterator[None]:
        """Whatever goes wrong inside is one line, and the end of what this tracker gets."""
        try:
            yield
        except Exception as error:
            runs.pop(destination, None)
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self._report(f"{destination}: {lines[0].rstrip('.')}; nothing more is sent there, and {self._remedy}")


def exported_values(
    blocks: Sequence[Block], parameters: Sequence[str], names: Mapping[tuple[object, ...], str]
) -> dict[str, float]:
    """The numbers of a record by the names that trackers show.

    Curves are ``split/quantity``, numbers by site ``quantity/site``, and the norm of the whole gradient of an update is
    ``train/step_gradient_norm``. Spectra, histograms and texts have none.

    Args:
        blocks: of the record.
        parameters: the names of the sites of blocks with ``addresses``, in their order.
        names: by coordinates of a site the name of its parameter or module.
    """
    values: dict[str, float] = {}
    for block in blocks:
        columns = block["columns"]
        length = max((len(column) for column in columns.values() if isinstance(column, list)), default=1)
        rows = [{name: c[i] if isinstance(c, list) else c for name, c in columns.items()} for i in range(length)]
        if block["table"] == "curves":
            values |= {f"{row['split']}/{row['quantity']}": row["value"] for row in rows}
        elif block["table"] == "sites":
            for i, row in enumerate(rows):
                site = tuple(row.get(name) for name in ("stack", "layer", "sublayer", "tensor"))
                written = ".".join(str(part) for part in site if part is not None) or "all"
                place = parameters[i] if "addresses" in block else names.get(site) or written
                index = "" if row.get("index") is None else f"[{row['index']}]"
                if row["value"] is not None:
                    values[f"{row['quantity']}/{place}{index}"] = row["value"]
            norms = [
                row["value"] for row in rows if row["quantity"] == "step_gradient_norm" and row["value"] is not None
            ]
            if norms:  # of the whole gradient: squares of norms add up over parameters
                values["train/step_gradient_norm"] = sqrt(fsum(norm * norm for norm in norms))
    return values
