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
