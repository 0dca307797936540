"""From the arguments of a Python call to the request that the command line would make of the same words."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Union

from lnlab.app.request import Request, request_for
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.portable_names import why_unportable

if TYPE_CHECKING:
    from lnlab.compile.reference.spec_model import SpecModel

SpecSource = Union[str, Path, Mapping[str, object], "SpecModel"]
"""A spec: the path of a YAML file, its content as a dict, or an ``lnlab.Spec``."""
OverrideValues = Mapping[str, object] | Sequence[str]
"""What ``-s`` gives: ``{"model.layers": 12}``, or ``["model.layers=12"]``."""
Folder = str | Path | None
_LONGEST_NAME = 40


def request_of(spec: SpecSource, profile: object, overrides: OverrideValues, plugins: Sequence[str | Path]) -> Request:
    """The request that these arguments make.

    Raises:
        LabError: a dict holds what a spec may not hold, an override is no plain value, or the profile is no name.
    """
    if profile is not None and not isinstance(profile, str):
        what = f"a profile is a name, not {type(profile).__name__}"
        raise LabError(Issue("wrong-type", "profile", what, "give the name of one of the spec's profiles"))
    files = (plugins,) if isinstance(plugins, str | Path) else plugins
    if isinstance(overrides, Mapping):
        from lnlab.specfile.dump import inline_text, plain_spec

        arguments = tuple(f"{path}={inline_text(value)}" for path, value in plain_spec(overrides).items())
    else:
        arguments = (overrides,) if isinstance(overrides, str) else tuple(overrides)
    request = Request(Path(), profile, arguments, tuple(map(Path, files)))
    if isinstance(spec, str | Path):
        return request_for(Path(spec), profile, request.overrides, request.plugins)
    if not isinstance(spec, Mapping):
        if spec.path is not None:  # data are looked for beside the file that it was read from
            return request_for(spec.path, profile, request.overrides, request.plugins, spec.to_yaml())
        spec = spec.data
    from lnlab.specfile.dump import plain_spec, spec_yaml

    data = plain_spec(spec)
    name = ""  # the first words of its title, as the folder of its report is called by it
    for word in re.findall(r"[a-z0-9]+", str(data.get("title") or "").lower()):
        if name and len(name) + len(word) >= _LONGEST_NAME:
            break
        name = f"{name}_{word}" if name else word[:_LONGEST_NAME]
    if why_unportable(name):  # it is empty, or a device of Windows, as "con" is
        name = f"spec_{name}".rstrip("_")
    return replace(request, spec=Path(f"{name}.yaml"), text=spec_yaml(data))
