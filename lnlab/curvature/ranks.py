"""Processes of ``torch.distributed`` that each hold a part of the batches and compute sums over all.

Batch k of all is number ``k // size`` of rank ``k % size``, as a ``DistributedSampler`` deals them out. Every rank
makes the same calls and has bit-identical sums, so that results derived from them are the same everywhere. An error on
one rank must not leave the others waiting in a sum that it never reaches. So ranks first tell each other whether they
take part. If one has failed or ended, the others raise that instead of waiting.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from lnlab.curvature.guards import CurvatureError
from lnlab.errors import LabError

_ENDED, _FAILED = "ended", "failed"


class RankError(CurvatureError):
    """The failure of another rank."""


@dataclass
class Ranks:
    """The processes that work together, by default only this one.

    Attributes:
        number: the rank of this process, from 0.
        size: number of processes.
    """

    number: int = 0
    size: int = 1
    _over: bool = field(default=False, repr=False)

    @classmethod
    def of_torch(cls) -> "Ranks":
        """The processes of torch's process group.

        Raises:
            CurvatureError: there is none.
        """
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            what = "found no process group, expected that of several ranks"
            raise CurvatureError(what, "call torch.distributed.init_process_group() in each, as under torchrun")
        return cls(torch.distributed.get_rank(), torch.distributed.get_world_size())

    def positions(self, n: int) -> range:
        """Indices of this rank's batches among the first ``n`` of all."""
        return range(self.number, n, self.size)

    def available(self, own: int) -> int:
        """Number of batches of all ranks together, up to the first that is missing, where this one has ``own``."""
        return min(int(n) * self.size + rank for rank, n in enumerate(self.gather("batches", own)))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Mark calls that every rank makes, so that an error of one is raised by all.

        Raises:
            RankError: another rank failed, or is at another call.
        """
        try:
            yield
        except BaseException as error:
            if not self._over:
                told = error.issues[0] if isinstance(error, LabError) else error
                what = getattr(told, "what", " ".join(f"{type(error).__name__}: {error}".split()))
                with suppress(RankError):  # with nobody to tell, this rank's own error is the one to raise
                    self._tell(_FAILED, (what, getattr(told, "remedy", "")))
            raise
        self._tell(_ENDED, None)

    def gather(self, subject: str, value: Any) -> list[Any]:
        """The value of each rank, in order of rank. ``subject`` names the value and is the same on all.

        Raises:
            RankError: another rank failed, or is at another call.
        """
        return self._tell(f"at {subject}", value)

    def sum(self, *tensors: Tensor) -> list[Tensor]:
        """The sum of each tensor over ranks, bit for bit the same on all. The tensors may be overwritten.

        Raises:
            RankError: another rank failed, or is at another call.
        """
        if self.size == 1:
            return list(tensors)
        self._tell(f"at a sum of {[tuple(x.shape) for x in tensors]}", None)
        # nccl knows no tensor of the processor, and refuses a transposed one; gloo sums the memory, gaps included.
        totals = [x.cuda() if torch.distributed.get_backend() == "nccl" else x for x in map(Tensor.contiguous, tensors)]
        with self._in_contact():
            for work in [torch.distributed.all_reduce(total, async_op=True) for total in totals]:
                work.wait()
        return [total.to(x.device) for total, x in zip(totals, tensors, strict=True)]

    @contextmanager
    def _in_contact(self) -> Iterator[None]:
        """Turn torch's error about a lost rank into a ``RankError`` inside the block."""
        try:
            yield
        except RuntimeError as error:
            self._over = True
            what = f"the other ranks cannot be reached: {' '.join(str(error).split())[:200]}"
            raise RankError(what, "look at what they print; one of them may have been killed") from error

    def _tell(self, what: str, value: Any) -> list[Any]:
        """Exchange the call and the value of every rank."""
        if self.size == 1:
            return [value]
        heard: list[Any] = [None] * self.size
        with self._in_contact():
            torch.distributed.all_gather_object(heard, (what, value))
        failed = [(rank, *told) for rank, (how, told) in enumerate(heard) if how == _FAILED]
        self._over = bool(failed) or len({how for how, _ in heard}) > 1
        if what == _FAILED or not self._over:
            return [told for _, told in heard]
        if failed:
            rank, message, remedy = failed[0]
            raise RankError(f"rank {rank} failed: {message}", remedy or f"look at what rank {rank} prints")
        rank, other = next((rank, how) for rank, (how, _) in enumerate(heard) if how != what)
        where = f"rank {self.number} is {what}, rank {rank} is {other}".replace(f"is {_ENDED}", f"has {_ENDED}")
        raise RankError(where, "let every rank make the same calls")
