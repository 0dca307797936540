"""The exit codes of commands. 0 means done."""

FAILED = 1
"""Some runs failed, a section of a report could not be made, or what was compared differs. The rest stands."""
WRONG = 2
"""The spec or the command is wrong."""
CONTRADICTED = 3
"""A claim is contradicted, or a referee's question is open, and the user asked to be told (``--fail-on``)."""
NOT_PRINTED = 74
"""The results could not be printed (EX_IOERR): standard output is closed, or its disk is full."""
SIGNAL = 128
"""Plus the number of the signal that ended the command: 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP."""
INTERRUPTED = SIGNAL + 2
"""Ctrl-C."""
BROKEN_PIPE = 141
"""Nobody reads any more, as the shell says of a program that SIGPIPE ends: 128 + 13."""
