# SPDX-License-Identifier: Apache-2.0
"""Weights files of which each part may lie: what the pickle says, the header of a safetensors file."""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from hostile_pickles import call, integer, row, storage, tensor, text, write_zip

HUGE = 10**12


@dataclass(frozen=True)
class Facts:
    """What a pickle says of one tensor."""

    key: str
    num_elements: int
    offset: int
    shape: list[int]
    strides: list[int]
    kind: str = "FloatStorage"

    def opcodes(self) -> bytes:
        return tensor(storage(self.key, self.num_elements, self.kind), self.offset, self.shape, self.strides)


KINDS = {torch.float32: "FloatStorage", torch.int64: "LongStorage"}
State = dict[str, torch.Tensor]


def write_state(path: Path, state: State, changed: dict[str, bytes], data: dict[str, bytes] | None = None) -> None:
    """A file of torch.save, made by hand: `changed` are opcodes in place of a tensor's, `data` other storages."""
    opcodes, storages = b"", {}
    for name, tensor_of_name in state.items():
        values = tensor_of_name.contiguous()
        facts = Facts(name, values.numel(), 0, list(values.shape), list(values.stride()), KINDS[values.dtype])
        opcodes += text(name) + changed.get(name, facts.opcodes())
        storages[f"weights/data/{name}"] = values.numpy().tobytes()
    write_pickle(path, b"}(" + opcodes + b"u", storages | (data or {}))


def write_pickle(path: Path, opcodes: bytes, storages: dict[str, bytes] | None = None) -> None:
    content = {"weights/data.pkl": b"\x80\x02" + opcodes + b".", "weights/byteorder": b"little"}
    write_zip(path, content | (storages or {}) | {"weights/version": b"3\n"})


# In place of this tensor, float32 [13] in a storage of its own name.
BIAS = "conv.bias"
_SIZES: dict[str, Facts] = {
    "storage_shorter_than_said": Facts(BIAS, 14, 0, [13], [1]),
    "storage_of_huge_size": Facts(BIAS, HUGE, 0, [13], [1]),
    "storage_of_negative_size": Facts(BIAS, -1, 0, [13], [1]),
    "storage_beyond_int64": Facts(BIAS, 2**64 + 13, 0, [13], [1]),
    "storage_of_wrapping_size": Facts(BIAS, 2**62, 0, [13], [1]),
    "storage_of_wider_type": Facts(BIAS, 13, 0, [13], [1], "DoubleStorage"),
    "storage_of_unknown_type": Facts(BIAS, 13, 0, [13], [1], "FishStorage"),
    "storage_not_there": Facts("99", 13, 0, [13], [1]),
    "storage_up_the_folders": Facts("../../../../etc/passwd", 13, 0, [13], [1]),
    "storage_of_absolute_name": Facts("/etc/passwd", 13, 0, [13], [1]),
    "storage_that_is_the_pickle": Facts("../data.pkl", 13, 0, [13], [1]),
    "tensor_beyond_its_storage": Facts(BIAS, 13, 1, [13], [1]),
    "tensor_of_negative_offset": Facts(BIAS, 13, -1, [13], [1]),
    "tensor_of_wrapping_offset": Facts(BIAS, 13, 2**63 - 4, [13], [1]),
    "tensor_of_huge_size": Facts(BIAS, 13, 0, [HUGE], [1]),
    "tensor_repeated_to_huge_size": Facts(BIAS, 13, 0, [10**6, 10**6], [0, 0]),
    "tensor_of_wrapping_size": Facts(BIAS, 13, 0, [2**32, 2**32], [0, 0]),
    "tensor_of_wrapping_stride": Facts(BIAS, 13, 0, [13], [2**62]),
    "tensor_of_negative_stride": Facts(BIAS, 13, 12, [13], [-1]),
    "tensor_of_negative_size": Facts(BIAS, 13, 0, [-13], [1]),
    "tensor_of_fewer_strides": Facts(BIAS, 13, 0, [13], []),
    "tensor_of_many_dimensions": Facts(BIAS, 13, 0, [1] * 100_000, [1] * 100_000),
}

_MALFORMED: dict[str, bytes] = {
    "tensor_of_text": tensor(text("storage"), 0, [13], [1]),
    "tensor_without_shape": call("torch._utils", "_rebuild_tensor_v2", storage(BIAS, 13), integer(0)),
    "tensor_of_shape_in_words": call(
        "torch._utils", "_rebuild_tensor_v2", storage(BIAS, 13), integer(0), text("13"), row()
    ),
    "tensor_of_nothing": call("torch._utils", "_rebuild_tensor_v2"),
    "parameter_of_nothing": call("torch._utils", "_rebuild_parameter"),
    "persistent_id_of_text": text("storage") + b"Q",
    "persistent_id_in_a_line": b"Pstorage\n",
    "storage_of_two_words": row(text("storage"), text("FloatStorage")) + b"Q",
    "call_of_a_text": text("posix.system") + row(text("true")) + b"R",
    "memo_of_nothing": b"j\xff\xff\xff\xff",
    "extension_code": b"\x82\x01",
    "text_beyond_the_end": b"\x8d" + b"\xff" * 8,
    "integer_beyond_the_end": b"\x8b\xff\xff\xff\x7f",
    "class_of_endless_name": b"c" + b"a" * 2_000_000 + b"\nb\n",
    "stack_of_nothing": b"0" * 100,
    "marks_without_end": b"(" * 2_000_000,
    "unknown_opcode": b"\xff",
}

# Instead of the whole state. All are quick to write and would be slow or deep to walk.
DEEP = 1_000_000
_WHOLE: dict[str, bytes] = {
    "tuples_in_tuples": b"N" + b"\x85" * DEEP,
    "lists_in_lists": b"]" * DEEP + b"a" * (DEEP - 1),
    "dicts_in_dicts": (b"}" + text("model")) * DEEP + b"}" + b"s" * DEEP,
    "dict_in_itself": b"}q\x00" + text("model") + b"h\x00s",
    "list_in_itself": b"]q\x00h\x00a",
    "doubled_thirty_times": b"]q\x00" + b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(30)),
    "twenty_million_values": b"](" + b"N" * 20_000_000 + b"e",
    "empty_stack": b"",
    "a_number": b"K\x07",
}


def _tables() -> dict[str, Callable[[Path, State], None]]:
    def with_bias(opcodes: bytes) -> Callable[[Path, State], None]:
        return lambda path, state: write_state(path, state, {BIAS: opcodes})

    def whole(opcodes: bytes) -> Callable[[Path, State], None]:
        return lambda path, state: write_pickle(path, opcodes)

    sizes = {name: with_bias(facts.opcodes()) for name, facts in _SIZES.items()}
    malformed = {name: with_bias(opcodes) for name, opcodes in _MALFORMED.items()}
    return sizes | malformed | {name: whole(opcodes) for name, opcodes in _WHOLE.items()}


BAD_PICKLES = _tables()


def write_safetensors(path: Path, header: object, data: bytes, length: int | None = None) -> None:
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(content) if length is None else length) + content + data)


def _with_entry(**changes: object) -> Callable[[Path, State], None]:
    """Other facts of conv.bias."""

    def write(path: Path, state: State) -> None:
        header, data = header_of(state)
        header[BIAS] |= changes
        write_safetensors(path, header, data)

    return write


def header_of(state: State) -> tuple[dict[str, dict[str, object]], bytes]:
    """conv.bias is the first, at 0 to 52."""
    header, data = {}, b""
    for name, values in sorted(state.items(), key=lambda entry: entry[0] != BIAS):
        content = values.contiguous().numpy().tobytes()
        dtype = "I64" if values.dtype == torch.int64 else "F32"
        place = [len(data), len(data) + len(content)]
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": place}
        data += content
    return header, data


def _header(
    change: Callable[[bytes], bytes], length: Callable[[int], int] | None = None
) -> Callable[[Path, State], None]:
    def write(path: Path, state: State) -> None:
        header, data = header_of(state)
        content = change(json.dumps(header).encode())
        write_safetensors(path, content, data, None if length is None else length(len(content)))

    return write


def _same(content: bytes) -> bytes:
    return content


BAD_SAFETENSORS: dict[str, Callable[[Path, State], None]] = {
    "offsets_beyond_the_end": _with_entry(data_offsets=[10**9, 10**9 + 52]),
    "offsets_turned": _with_entry(data_offsets=[52, 0]),
    "offsets_negative": _with_entry(data_offsets=[-52, 0]),
    "offsets_wrapping": _with_entry(data_offsets=[2**64 - 52, 2**64]),
    "offsets_of_fractions": _with_entry(data_offsets=[0.0, 52.0]),
    "offsets_three": _with_entry(data_offsets=[0, 52, 52]),
    "offsets_overlapping": _with_entry(data_offsets=[4, 56]),
    "offsets_too_short": _with_entry(data_offsets=[0, 48]),
    "shape_huge": _with_entry(shape=[HUGE]),
    "shape_wrapping": _with_entry(shape=[2**32, 2**32, 13]),
    "shape_negative": _with_entry(shape=[-13]),
    "shape_of_words": _with_entry(shape=["13"]),
    "shape_of_many_dimensions": _with_entry(shape=[1] * 100_000 + [13]),
    "type_unknown": _with_entry(dtype="F31"),
    "type_a_number": _with_entry(dtype=32),
    "header_longer_than_the_file": _header(_same, lambda length: 2**40),
    "header_of_wrapping_length": _header(_same, lambda length: 2**64 - 8),
    "header_cut": _header(_same, lambda length: length // 2),
    "header_of_one_byte_more": _header(_same, lambda length: length + 1),
    "header_of_a_list": _header(lambda content: b"[" + content + b"]"),
    "header_of_two_objects": _header(lambda content: content + b"{}"),
    "header_of_no_text": _header(lambda content: b'{"\xff\xfe": ' + content + b"}"),
    "header_deep": _header(lambda content: b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "header_deep_in_lists": _header(lambda content: b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "entry_of_a_number": _header(lambda content: b'{"conv.bias": 3}'),
}
