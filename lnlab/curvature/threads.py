"""Work on threads with one core each, its results in the order of the work.

Sums of results are then the same to the last bit, whatever the number of threads: a product of two matrices on one
core does not depend on how many others are busy.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_order(f: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """``map(f, items)``, at most ``threads`` at a time, and no more than twice as many results waiting.

    A new thread would use every core, whatever is set in its parent: each sets its own number. It also begins with an
    empty allocator, which costs some 30,000 page faults a product: a single thread is the caller's own.
    """
    if threads == 1:
        for item in items:
            before = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                result = f(item)
            finally:  # before the result is handed out, as what the caller does with it may take every core
                torch.set_num_threads(before)
            yield result
        return
    remaining = iter(items)
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        waiting: deque[Future[Result]] = deque(pool.submit(f, item) for item in islice(remaining, 2 * threads))
        try:
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(pool.submit(f, item) for item in islice(remaining, 1))
        finally:
            for future in waiting:
                future.cancel()
