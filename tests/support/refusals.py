"""What a call is refused with."""

from collections.abc import Callable
from typing import Any

import pytest

from lnlab.errors import LabError


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> list[str]:
    """The lines with which a call is refused: place, what is wrong, and what to do instead."""
    with pytest.raises(LabError) as caught:
        call(*arguments, **options)
    return [str(issue) for issue in caught.value.issues]


def one_line(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """What a call is refused with, which is one line."""
    with pytest.raises(LabError) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
