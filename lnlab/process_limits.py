"""What a process can run out of, told from mistakes: memory, for which libraries have different words, and files."""

import errno

from lnlab.issues import Issue

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_SAID = (
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
    "out of memory",
    "failed to map segment",
    "bad_alloc",
    "can't start new thread",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that no memory is left, for data, a library or a thread."""
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in _SAID)


def problem_of_limits(error: BaseException) -> Issue | None:
    """The problem that memory or open files are used up, with the limit that was set. None: the error says neither."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        what = "no further file can be opened"
        return Issue("failed", "lnlab", what, "allow more, as with ulimit -n 1024; what is finished is kept")
    if not is_out_of_memory(error):
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource is not None else -1
    if resource is None or limit == resource.RLIM_INFINITY:
        what = "no memory is left for data, a library or a thread"
        return Issue("out-of-memory", "lnlab", what, "end other programs, or allow more processes (ulimit -u)")
    what = f"the {limit / 1e9:.3g} GB of addresses that a process may have (ulimit -v) are used up"
    return Issue("out-of-memory", "lnlab", what, "allow more, as with ulimit -v unlimited")
