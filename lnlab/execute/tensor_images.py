"""Many tensors laid end to end: one operation on all of them costs far less than one on each, as most are small."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TensorImage:
    """A copy of some tensors of one device and type, end to end.

    Attributes:
        shapes: of each, by name, in their order.
        values: all their entries, a vector.
    """

    shapes: dict[str, torch.Size]
    values: Tensor

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, each in its shape."""
        pieces = torch.split(self.values, [shape.numel() for shape in self.shapes.values()])
        return {name: piece.view(shape) for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)}


Images = dict[tuple[torch.device, torch.dtype], TensorImage]


@torch.no_grad()
def images_of(tensors: Mapping[str, Tensor]) -> Images:
    """Tensors as they are now, by device and type."""
    groups: dict[tuple[torch.device, torch.dtype], dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        groups.setdefault((tensor.device, tensor.dtype), {})[name] = tensor
    return {
        key: TensorImage({name: t.shape for name, t in named.items()}, torch.cat([t.flatten() for t in named.values()]))
        for key, named in groups.items()
    }


def tensor_differences(later: Images, earlier: Images) -> dict[str, Tensor]:
    """What was added to each of the same tensors, by name."""
    images = (TensorImage(image.shapes, image.values - earlier[key].values) for key, image in later.items())
    return {name: tensor for image in images for name, tensor in image.tensors().items()}


def changed_names(before: Images, after: Images) -> list[str]:
    """The names of what is not as before to the last bit, so that a NaN equals itself."""
    if before.keys() == after.keys() and all(
        image.shapes == after[key].shapes and _equal(image.values, after[key].values) for key, image in before.items()
    ):
        return []
    earlier, later = (
        {n: t for image in images.values() for n, t in image.tensors().items()} for images in (before, after)
    )
    changed = earlier.keys() ^ later.keys()
    for name in earlier.keys() & later.keys():
        a, b = earlier[name], later[name]
        if (a.shape, a.dtype, a.device) != (b.shape, b.dtype, b.device) or not _equal(a, b):
            changed.add(name)
    return sorted(changed)


def _equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors of one shape and type have the same bits; in whole words, as torch compares bytes slowly."""
    word = {2: torch.int16, 4: torch.int32, 8: torch.int64}.get(a.dtype.itemsize, torch.uint8)
    return torch.equal(a.flatten().view(word), b.flatten().view(word))
