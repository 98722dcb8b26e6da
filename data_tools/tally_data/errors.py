# SPDX-License-Identifier: Apache-2.0
"""Foreseeable faults: each kind has tally's exit code, each message is one clear sentence."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn


class ToolError(Exception):
    """A fault that ends a tool with one line on stderr and no traceback."""

    exit_code = 9


class UsageError(ToolError):
    """An option or argument is wrong."""

    exit_code = 2


class DataError(ToolError):
    """What was read, or what is to be written, is not a valid data set."""

    exit_code = 3


class BrokenImage(DataError):
    """The content of an image file is damaged, or cannot be decoded."""


class ModelError(ToolError):
    """The model or its weights cannot be used."""

    exit_code = 4


class EnvironmentFault(ToolError):
    """The machine or the installation does not give what is needed."""

    exit_code = 5


class OutputError(ToolError):
    """The output cannot be written."""

    exit_code = 6


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turns what the operating system says about an input file into a DataError that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"'{path}' does not exist") from error
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"'{path}' cannot be read: {reason}") from error


class _Stopped(BaseException):
    """By a signal; not a SystemExit, which code of users raises."""


def _stop(signum: int, _frame: object) -> NoReturn:
    raise _Stopped(signum)  # unwinds, so that temporary files are removed


def run_tool(name: str, main: Callable[[], None]) -> NoReturn:
    """Runs a command line tool: one line on stderr and the exit code of the fault, 0 otherwise."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        main()
    except ToolError as error:
        message = " ".join(str(error).split())
        print(f"{name}: error[{error.exit_code}] {message}", file=sys.stderr)
        sys.exit(error.exit_code)
    except _Stopped as stopped:
        print(f"{name}: stopped by signal {stopped.args[0]}", file=sys.stderr)
        sys.exit(128 + stopped.args[0])
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)
