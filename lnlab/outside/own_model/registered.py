"""A model from a user's file, registered for specs: its keyword parameters are swept, its layers have addresses.

It is built under the run's seed, and ``init: own`` keeps the values that it gives itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from inspect import Parameter, Signature, signature
from json import loads
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from lnlab.errors import LabError, listed
from lnlab.issues import Issue
from lnlab.keys import canonical
from lnlab.nn.masks import PAD_TOKEN
from lnlab.nn.models import TokenPairs, models
from lnlab.nn.site import AddressedModel
from lnlab.outside.own_model.addresses import parameter_addresses
from lnlab.outside.own_model.fused import addressed_copy
from lnlab.outside.own_model.repeatable import check_repeatable
from lnlab.outside.own_model.stream import stream_points

OwnBuild = TypeVar("OwnBuild", bound=Callable[..., nn.Module])


class OwnLanguageModel(AddressedModel):
    """A module from tokens (batch, length) to the logits of every next one, as lnlab's tasks call a model."""

    repeats = False
    """Whether two passes in evaluation mode have been compared, once for a model."""

    def forward(self, batch: TokenPairs) -> Tensor:
        """The logits (batch, length, size).

        Raises:
            LabError: they have another shape, a pass changes the parameters or, in evaluation mode, draws.
        """
        if not self.training and not self.repeats:
            self.repeats = True
            with torch.no_grad():
                check_repeatable("model", lambda: self._logits(batch))
        return self._logits(batch)

    def _logits(self, batch: TokenPairs) -> Tensor:
        try:
            with self.same_parameters():
                logits: Any = self.module(batch.target_in)
            self.end_pass()
        except LabError as error:  # of the parameters or the stream
            raise LabError(*(replace(p, place="model") for p in error.issues)) from error
        if not isinstance(logits, Tensor) or logits.shape[:-1] != batch.target_in.shape:
            returned = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            what = f"'{type(self.module).__name__}' returned {returned} for tokens {tuple(batch.target_in.shape)}"
            raise LabError(Issue("unsupported", "model", what, "return logits, (batch, length, size)"))
        return logits


def register_model(
    name: str, *, sites: Mapping[str, str] | None = None, stream: Mapping[str, str] | None = None, version: int = 1
) -> Callable[[OwnBuild], OwnBuild]:
    """Register a language model for specs: ``build(size, *, ...) -> module``, from tokens to the logits of the next.

    Args:
        name: what specs call it: ``model: {kind: name, ...}``, with what stands behind the ``*`` as parameters.
        sites: addresses by pattern, as ``own_model.addresses`` reads them. Known families have theirs. A
            parameter of the model may stand in an address, in braces: ``self_attention.{heads}(q/k/v)``.
        stream: where the residual stream passes, as ``own_model.stream`` reads it. Known families have theirs.
        version: joins every key: raise it when the numbers change for a reason outside of the file.
    """

    def register(build: OwnBuild) -> OwnBuild:
        # lnlab supplies the number of rows, and a spec may set what stands behind the `*`.
        parameters = list(signature(build, eval_str=True).parameters.values())
        settable = [p for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
        supplied = [p for p in parameters if p not in settable]
        if len(supplied) != 1 or supplied[0].kind > Parameter.POSITIONAL_OR_KEYWORD:
            what = f"its builder takes ({', '.join(map(str, parameters))})"
            remedy = "write (size, *, ...): lnlab supplies the rows, a spec the rest"
            raise LabError(Issue("unsupported", f"model '{name}'", what, remedy))

        def build_addressed(size: int, parts: Mapping[str, Any], **choice: Any) -> nn.Module:  # noqa: ARG001
            module = build(size, **choice)
            try:
                points = stream_points(module, stream or {})
                try:
                    patterns = {pattern: address.format_map(choice) for pattern, address in (sites or {}).items()}
                except (KeyError, ValueError, IndexError) as error:
                    what = f"an address in sites= names a parameter that the model does not have: {error}"
                    raise LabError(Issue("unsupported", "", what, f"choose from {listed(choice)}")) from error
                own, _ = addressed_copy(module, parameter_addresses(module, patterns), points)
            except LabError as error:
                raise LabError(*(replace(issue, place=f"model '{name}'") for issue in error.issues)) from error
            return OwnLanguageModel(own.module, own.sites, own.stream, lambda batch: batch.target_in != PAD_TOKEN)

        # Its signature is the schema of a model in a spec, so it has to be that of the user's builder and `parts`.
        build_addressed.__doc__ = build.__doc__
        parts = Parameter("parts", Parameter.POSITIONAL_OR_KEYWORD)
        build_addressed.__signature__ = Signature([*supplied, parts, *settable])  # type: ignore[attr-defined]
        models.register(
            name,
            version=version,
            own=True,
            says="decoder",
            # Trainable elements, and forward FLOPs a token: two for every element of a matrix, tables included.
            size=lambda setting: _counted(canonical(setting["model"]), setting["task"]["vocabulary"])[0],
            stream=lambda setting: _counted(canonical(setting["model"]), setting["task"]["vocabulary"])[1],
        )(build_addressed)
        return build

    return register


@lru_cache(maxsize=1024)
def _counted(choice: str, rows: int) -> tuple[tuple[int, int], bool]:
    """The size of a model, and whether its stream is known."""
    resolved = loads(choice)  # text, as the cache needs keys with a hash
    try:
        with torch.device("meta"):
            model: AddressedModel = models.builder(resolved)(rows, {})
    except LabError:
        raise
    except Exception as error:
        what = f"cannot be built without memory: {' '.join(str(error).split()) or type(error).__name__}"
        raise LabError(
            Issue("unsupported", f"model '{resolved['kind']}'", what, "build it from shapes, and read no values")
        ) from error
    matrices = sum(p.numel() for p in model.parameters() if p.dim() > 1)
    return (sum(p.numel() for p in model.parameters() if p.requires_grad), 2 * matrices), bool(model.stream)
