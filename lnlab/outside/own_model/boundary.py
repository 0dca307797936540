"""The boundary around what is the user's: any error in a model, a loss or a batch becomes one message.

It says what was being done, in which module, and what to do about it. The error itself is its cause.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from torch import nn

from lnlab.curvature.ranks import RankError, Ranks
from lnlab.errors import LabError
from lnlab.issues import Issue

_LONGEST = 200
"""Characters of an error's text that are shown, as torch lists dispatch tables."""
_BY_ITSELF = "call loss(model, batch) without lnlab: it fails there, too"
_TYPE = "give batches of the model's type; with precision: float64, a model.double() and batches of float64"
_REMEDIES: tuple[tuple[str, str], ...] = (
    ("use_reentrant", "checkpoint with use_reentrant=False, which torch can differentiate so"),
    ("Expected more than 1", "give batches of several items, or statistics='running'"),
    ("out of memory", "make the batches smaller, or give the probe fewer of them"),
    ("can't allocate memory", "make the batches smaller, or give the probe fewer of them"),
    ("same device", "move the batches to the device of the model"),
    ("must have the same dtype", _TYPE),
    ("expected scalar type", _TYPE),
    ("should be the same", _TYPE),
    ("modified by an inplace operation", "write x = x + y for x += y in the model"),
    ("is being used in an in-place operation", "write x = x + y for x += y in the model"),
    ("backward through the graph a second time", "call no backward() in the loss, and detach what the model keeps"),
    ("nference tensor", "make model and batches outside of torch.inference_mode()"),
    ("does not require grad", "use neither torch.no_grad() nor detach() in the model or the loss"),
    ("FSDP", "measure the model before it is sharded"),
)
"""Words of an error, and the remedy. The first that fits is given."""
_SECOND = "torch cannot differentiate that twice: write it by its formula, or leave the probes of curvature out"
_OF_SECOND = (
    "double",
    "not implemented",
    "not differentiable",
    "twice",
    "does not require grad",
    "once_differentiable",
)
"""Words of errors about a second derivative that does not exist."""


@contextmanager
def on_ranks(ranks: Ranks, place: str = "measure") -> Iterator[None]:
    """Raise the failure of one rank on all ranks. Inside, every rank must make the same calls.

    Raises:
        LabError: another rank failed.
    """
    try:
        with ranks.together():
            yield
    except RankError as error:
        raise LabError(Issue("failed", place, str(error), error.remedy)) from error


@contextmanager
def guarded(doing: str, remedy: str = _BY_ITSELF) -> Iterator[None]:
    """Turn any exception into a ``LabError``. A ``LabError`` or ``RankError`` passes unchanged.

    Args:
        doing: what is being done: ``the forward pass``.
        remedy: what helps where the error does not tell.

    Raises:
        LabError: what was raised, in one line.
    """
    try:
        yield
    except (LabError, RankError):
        raise
    except Exception as error:
        raise LabError(_issue(doing, error, remedy)) from error


@contextmanager
def guarded_probe(name: str, *, of_user: bool = False) -> Iterator[None]:
    """``guarded`` for a probe, ``the probe 'sharpness'``. The origin of an error tells its backward passes apart.

    Args:
        name: of the probe, or what is done.
        of_user: whether the probe is the user's.

    Raises:
        LabError: what was raised, in one line.
    """
    try:
        yield
    except (LabError, RankError):
        raise
    except Exception as error:
        names = [str(frame.f_globals.get("__name__", "")) for frame in _frames(error.__traceback__)]
        if not any(name.startswith("torch.autograd") for name in names):
            remedy = "mend the probe" if of_user else "report it as a bug of lnlab, with its traceback"
            issue = _issue(name, error, remedy)
        elif any(name.startswith("lnlab.curvature") for name in names):
            issue = _issue(f"the second derivative for {name}", error, _SECOND, second=True)
        else:
            own = "call loss(model, batch).backward() without lnlab: it fails there, too"
            issue = _issue(f"the backward pass for {name}", error, own)
        raise LabError(issue) from error


def _issue(doing: str, error: Exception, remedy: str, *, second: bool = False) -> Issue:
    try:
        text = str(error)
    except Exception:  # an error of the user's may have no text
        text = ""
    message = next((line.strip() for line in text.splitlines() if line.strip()), "no message").rstrip(".")
    message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
    # The innermost module of the user's whose code was running: 'blocks.0.attn' (Attention). The outermost in the
    # traceback is the model, or the copy of it that was at work, and gives the paths.
    paths: dict[int, str] = {}
    place = ""
    for frame in _frames(error.__traceback__):
        module = frame.f_locals.get("self")
        if isinstance(module, nn.Module) and not type(module).__module__.startswith("lnlab."):
            paths = paths or {id(m): path for path, m in module.named_modules()}
            path = paths.get(id(module), "")
            place = f"'{path}' ({type(module).__name__})" if path else type(module).__name__
    inside = f" in {place}" if place else ""
    known = [remedy_for for word, remedy_for in _REMEDIES if word in f"{type(error).__name__}: {message}"]
    missing = second and any(word in message for word in _OF_SECOND)
    fitting = remedy if missing else next(iter(known), remedy)
    return Issue("failed", "measure", f"{doing} failed{inside}: {type(error).__name__}: {message}", fitting)


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next
