# SPDX-License-Identifier: Apache-2.0
"""An ordered map over processes that keeps only a few results in memory."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from .errors import EnvironmentFault

Item = TypeVar("Item")
Result = TypeVar("Result")


def default_workers() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0))


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def ordered_map(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """function(item) for each item, in order; at most 2 * workers + 1 results are held at a time.

    With one worker everything runs in this process. `function` and the items are pickled otherwise.
    """
    if workers == 1:
        yield from map(function, items)
        return
    # spawn: the parent may hold open HDF5 files and threads, which a fork would share.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_leave_interrupts_to_parent)
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool as error:
        raise EnvironmentFault(
            "a worker process was ended from outside (out of memory?); give fewer --workers"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
