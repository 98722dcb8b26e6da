# SPDX-License-Identifier: Apache-2.0
"""What a model of images or the like returns: names and kinds of its tensors, and what the card says of them."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from tally_data.errors import ModelError, UsageError

from .verify_export import INTEGERS, Names, Outputs, wanted_of

KINDS = ("logits", "log-probabilities", "probabilities")


@dataclass(frozen=True)
class OutputNames:
    """names: of the tensors that are wanted, or None: the model must return one; kinds: as many as names, or one.

    A tuple's first tensors have the names in that order; in a dict the tensors are found by them.
    """

    names: tuple[str, ...] | None
    kinds: tuple[str, ...]

    def pairs(self, outputs: Outputs) -> tuple[tuple[str, str], ...]:
        names = self.names or ("labels" if outputs[0].dtype in INTEGERS else self.kinds[0].replace("-", "_"),)
        return tuple(zip(names, self.kinds, strict=True))

    def card_entries(self, outputs: Outputs, varying: list[list[str | int]]) -> list[dict[str, Any]]:
        """varying: shapes with words for what is not the same in all batches."""
        entries = []
        for (name, kind), output, shape in zip(self.pairs(outputs), outputs, varying, strict=True):
            of_kind = {} if output.dtype in INTEGERS else {"kind": kind}
            dtype = str(output.dtype).removeprefix("torch.")
            entries.append({"name": name} | of_kind | {"dtype": dtype, "shape": shape})
        return entries

    def summary(self, outputs: Outputs) -> str:
        if len(outputs) == 1 and outputs[0].ndim <= 2:
            return f"{outputs[0][0].numel()} {self.kinds[0]}"
        shapes = ("x".join(map(str, output.shape[1:])) or "1" for output in outputs)
        return ", ".join(f"{name} {shape}" for (name, _), shape in zip(self.pairs(outputs), shapes, strict=True))


def _own_entries(own: dict[str, Any]) -> list[dict[str, Any]]:
    entries = own.get("outputs", [{}])
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise ModelError("'outputs' of the module's tally_card must be a list of dicts")
    if len(entries) > 1 and not all("name" in entry for entry in entries):
        raise ModelError("'outputs' of the module's tally_card are several: each needs a 'name'")
    return entries


def find_output_names(args: argparse.Namespace, own: dict[str, Any]) -> OutputNames:
    """Of --output-names and --outputs, else of the module's own card."""
    entries = _own_entries(own)
    if args.output_names is not None:
        by_name = {entry.get("name"): entry for entry in entries}
        only = entries[0] if len(entries) == len(args.output_names) == 1 else {}
        entries = [by_name.get(name, only) | {"name": name} for name in args.output_names]
    if args.outputs is not None and len(entries) > 1:
        raise UsageError(
            "--outputs is for a model of one output; of several the 'kind' is said by the module's tally_card"
        )
    kinds = tuple(args.outputs or entry.get("kind", "logits") for entry in entries)
    if wrong := [kind for kind in kinds if kind not in KINDS]:
        raise ModelError(
            f"the module's tally_card says that it returns '{wrong[0]}', expected {', '.join(KINDS)}"
        )
    names = tuple(entry.get("name") for entry in entries)
    if not all(name is None or (isinstance(name, str) and name) for name in names):
        raise ModelError(f"the module's tally_card names its outputs {list(names)}, expected texts")
    if len(set(names)) != len(names):
        raise ModelError(f"the names {', '.join(map(str, names))} of outputs are not all different")
    return OutputNames(None if names == (None,) else names, kinds)


def num_classes_of(outputs: Outputs) -> int | None:
    """Where the shape says it: [batch] is one value, and classes are dimension 1 of [batch, C] and [batch, C, H, W]."""
    if len(outputs) != 1 or outputs[0].ndim not in (1, 2, 4):
        return None
    return 1 if outputs[0].ndim == 1 else outputs[0].shape[1]


def check_outputs(outputs: Outputs, found: OutputNames) -> str | None:
    """Raises ModelError if scores are not of the kind that is said; a sentence of warning if they look like another."""
    if len(outputs) != len(found.kinds):
        raise ModelError(
            f"the model returns a tuple of {len(outputs)}, expected one tensor; name those that are wanted, as in "
            "--output-names boxes,scores,labels"
        )
    if len(outputs) == 1:
        if outputs[0].dtype in INTEGERS:
            if outputs[0].ndim == 3:  # the class of each pixel
                if found.kinds[0] != "logits":
                    raise ModelError(f"the model returns classes of pixels, which are no {found.kinds[0]}")
                return None
            dtype = str(outputs[0].dtype).removeprefix("torch.")
            raise ModelError(f"the model returns {dtype}, expected floating-point scores; of a dense network its classes "
                             "may be integers [batch, height, width]")  # fmt: skip
        return check_kind(outputs[0], found.kinds[0])
    said = zip(outputs, found.kinds, strict=True)
    notes = [check_kind(output, kind) for output, kind in said if kind != "logits" and output.dtype not in INTEGERS]
    return next((note for note in notes if note is not None), None)


def _rows(output: torch.Tensor) -> torch.Tensor:
    """[rows, classes]: of a dense network each pixel is a row."""
    if output.ndim > 2:
        output = output.movedim(1, -1) if output.ndim == 4 else output[..., None]
        return output.double().flatten(0, -2)
    return output.double().reshape(len(output), -1)


def check_kind(output: torch.Tensor, kind: str) -> str | None:
    """Raises ModelError if the scores are not of the kind; a sentence of warning if they look like another.

    Rows of class scores sum to 1; those of labels that are judged one by one need not.
    """
    scores = _rows(output)
    tolerance = 1e-3 if output.dtype == torch.float32 else 5e-2
    in_range = {
        "probabilities": bool(((scores >= 0) & (scores <= 1 + tolerance)).all()),
        "log-probabilities": bool((scores <= tolerance).all()),
    }
    is_probability = in_range["probabilities"] and bool(((scores.sum(1) - 1).abs() < tolerance).all())
    is_log_probability = bool((scores.logsumexp(1).abs() < tolerance).all())
    if not in_range.get(kind, True):
        bounds = "between 0 and 1" if kind == "probabilities" else "at most 0"
        raise ModelError(f"the model does not return {kind}: they would be {bounds}; see --outputs")
    if scores.shape[1] > 1 and (
        (kind == "probabilities" and not is_probability)
        or (kind == "log-probabilities" and not is_log_probability)
    ):
        if output.ndim > 2:
            return f"the {kind} of a pixel do not sum to 1"
        return f"the {kind} of a row do not sum to 1: they fit the task multilabel only"
    is_log_probability = is_log_probability and scores.shape[1] > 1
    if kind == "logits" and (in_range["probabilities"] or is_log_probability):
        looks = "probabilities" if in_range["probabilities"] else "log-probabilities"
        return f"the outputs look like {looks}, exported as logits; perhaps --outputs {looks} is meant"
    return None


def shapes_in_words(all_outputs: list[Outputs], any_size: bool) -> list[list[str | int]]:
    """Of each output, with a word for each dimension that differs between batches, of which the first is the example."""
    return [list(_words(tensors, any_size)) for tensors in zip(*all_outputs, strict=True)]


def _words(tensors: tuple[torch.Tensor, ...], any_size: bool) -> Iterator[str | int]:
    shape = tensors[0].shape
    if any(tensor.ndim != len(shape) for tensor in tensors):
        raise ModelError("the model returns another number of dimensions for another batch")
    for at, size in enumerate(shape):
        if at == 0:
            yield "batch"
        elif all(tensor.shape[at] == size for tensor in tensors):
            yield size
        else:
            is_image = any_size and len(shape) > 2 and at >= len(shape) - 2
            yield ("width" if at == len(shape) - 1 else "height") if is_image else f"size_{at}"


def return_only(module: nn.Module, names: Names) -> None:
    """Gives the module a forward of what is wanted: compiled code returns all that it computes, in a flat tuple."""
    if names is None or isinstance(module, torch.jit.ScriptModule):
        return
    base = type(module)

    def forward(self: nn.Module, image: torch.Tensor) -> Outputs:
        return wanted_of(base.forward(self, image), names)

    module.__class__ = type(base.__name__, (base,), {"forward": forward, "__module__": base.__module__})
