# SPDX-License-Identifier: Apache-2.0
"""Pickles that run a command when Python loads them, and pickles of sizes that lie. Spliced into files at a slot."""

import zipfile
from collections.abc import Callable
from pathlib import Path

# A text that stands in a pickle where something else is to come.
SLOT = "@@SLOT@@"


def text(value: str) -> bytes:
    return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()


def named(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def integer(value: int) -> bytes:
    digits = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(digits)]) + digits


def row(*items: bytes) -> bytes:
    """A tuple."""
    return b"(" + b"".join(items) + b"t"


def call(module: str, name: str, *arguments: bytes) -> bytes:
    return named(module, name) + row(*arguments) + b"R"


def _words(mark: str) -> bytes:
    return b"](" + text("touch") + text(mark) + b"e"


def _new_tuple(mark: str, opcodes: bytes) -> bytes:
    """Of all that a call of the command on each of some words gives."""
    calls = named("builtins", "map") + row(named("posix", "system"), row(text(f"touch {mark}"))) + opcodes
    return named("builtins", "tuple") + row(calls) + opcodes


def _state_that_runs(mark: str) -> bytes:
    """The first BUILD gives the object a __setstate__, the second one calls it."""
    setter = b"}" + text("__setstate__") + named("posix", "system") + b"s"
    return named("types", "SimpleNamespace") + b")\x81" + setter + b"b" + text(f"touch {mark}") + b"b"


def _pickle_in_a_pickle(mark: str) -> bytes:
    inner = call("posix", "system", text(f"touch {mark}")) + b"."
    return call("_pickle", "loads", b"B" + len(inner).to_bytes(4, "little") + inner)


def _system_of_getattr(mark: str) -> bytes:
    module = call("builtins", "__import__", text("os"))
    return call("builtins", "getattr", module, text("system")) + row(text(f"touch {mark}")) + b"R"


def _partial(mark: str) -> bytes:
    return call("functools", "partial", named("posix", "system"), text(f"touch {mark}")) + b")R"


def _rebuilt_by_a_command(mark: str) -> bytes:
    parts = (named("posix", "system"), named("torch", "Tensor"), row(text(f"touch {mark}")), b"N")
    return call("torch._tensor", "_rebuild_from_type_v2", *parts)


# Each leaves one value on the stack and, in Python, the file `mark`.
COMMANDS: dict[str, Callable[[str], bytes]] = {
    "reduce_system": lambda mark: call("posix", "system", text(f"touch {mark}")),
    "reduce_eval": lambda mark: call("builtins", "eval", text(f"open({mark!r}, 'w').close()")),
    "reduce_exec": lambda mark: call("builtins", "exec", text(f"import os; os.mknod({mark!r})")),
    "reduce_check_call": lambda mark: call("subprocess", "check_call", _words(mark)),
    "named_by_stack": lambda mark: b"\x8c\x05posix\x8c\x06system\x93" + row(text(f"touch {mark}")) + b"R",
    "new_object": lambda mark: _new_tuple(mark, b"\x81"),
    "new_object_with_keywords": lambda mark: _new_tuple(mark, b"}\x92"),
    "set_state": _state_that_runs,
    "old_instance": lambda mark: b"(" + text(f"touch {mark}") + b"iposix\nsystem\n",
    "old_object": lambda mark: b"(" + named("posix", "system") + text(f"touch {mark}") + b"o",
    "persistent_id": lambda mark: call("posix", "system", text(f"touch {mark}")) + b"Q",
    "dict_key": lambda mark: b"}" + call("posix", "system", text(f"touch {mark}")) + b"Ns",
    "pickle_in_a_pickle": _pickle_in_a_pickle,
    "getattr": _system_of_getattr,
    "partial": _partial,
    "rebuilt_tensor": _rebuilt_by_a_command,
}

# These opcodes no PyTorch writes: the whole file is refused, even where the value is not needed.
NEVER_WRITTEN = {"old_instance", "old_object", "persistent_id"}
# Neither are files read that call what a call has returned.
UNNAMED_CALLS = {"getattr", "partial"}


def splice(content: bytes, opcodes: bytes) -> bytes:
    """Puts opcodes that leave one value at the slot."""
    for written in (text(SLOT), b"\x8c" + bytes([len(SLOT)]) + SLOT.encode()):
        if written in content:
            return content.replace(written, opcodes)
    raise ValueError("no slot")


def entries(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_zip(path: Path, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def splice_file(path: Path, opcodes: bytes) -> None:
    """The same in a file of torch.save, new or old, or a bare pickle."""
    if not zipfile.is_zipfile(path):
        path.write_bytes(splice(path.read_bytes(), opcodes))
        return
    changed = entries(path)
    for name, data in changed.items():
        if name.endswith("/data.pkl"):
            changed[name] = splice(data, opcodes)
    write_zip(path, changed)


def storage(key: str, num_elements: int, kind: str = "FloatStorage") -> bytes:
    return row(text("storage"), named("torch", kind), text(key), text("cpu"), integer(num_elements)) + b"Q"


def tensor(stored: bytes, offset: int, shape: list[int], strides: list[int]) -> bytes:
    numbers = (row(*map(integer, shape)), row(*map(integer, strides)))
    return call("torch._utils", "_rebuild_tensor_v2", stored, integer(offset), *numbers, b"\x89", b"N")
