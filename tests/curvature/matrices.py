"""Symmetric matrices whose spectra are known."""

import torch
from torch import Tensor


def rotated(eigenvalues, seed: int = 1) -> Tensor:
    """A matrix with these eigenvalues in a random basis."""
    values = torch.as_tensor(eigenvalues, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    q, _ = torch.linalg.qr(torch.randn(len(values), len(values), generator=generator, dtype=torch.float64))
    return (q * values) @ q.T


class Matrix:
    """An operator that is a matrix, and counts its passes."""

    device = torch.device("cpu")

    def __init__(self, matrix: Tensor) -> None:
        self.matrix, self.size, self.passes = matrix, len(matrix), 0

    def matvec(self, block: Tensor) -> Tensor:
        self.passes += 1
        return block @ self.matrix


def generators(number: int, seed: int = 0) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(1000 * seed + i) for i in range(number)]
