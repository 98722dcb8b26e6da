#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a model as a file that tally can run, with its model card (docs/model-card.md).

--model is a torchvision or timm name (resnet18, torchvision:resnet18, timm:convnext_tiny), or a function of your own
that returns a torch.nn.Module: package.module:function (the current directory is searched) or path/to/file.py:function.
hf:FOLDER is a transformers model: its config.json and weights; one without weights, or a config.json, is made anew.
--pretrained takes the weights that torchvision or timm publish for their model, from their caches on this machine;
--weights is whatever tally evaluate --weights takes (docs/checkpoints.md), and tally itself reads it: a state_dict, a
training checkpoint, .safetensors, shards, a folder; without it the weights are as the constructor left them. What is
written must give what the model gives, on batches of other sizes.

--format torchscript: runs anywhere; `tally evaluate --weights` can replace its weights, --precision its precision.
--format pt2: compiled for one kind of device, instruction set, image size and precision; texts may have any length. Its
weights are constants, unless --swappable, which is slower. It takes batches of any size, or with --batch-size N of that
size only.
--format onnx: for OpenVINO, on CPUs; its weights are constants, its batches of any size, or of --batch-size N only.
"""

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from tally_data.atomic import atomic_path, check_output
from tally_data.errors import ModelError, UsageError, run_tool
from tally_export.card import Description, describe, make_card, take_own_card
from tally_export.class_names import ClassNames, card_entry, of_file
from tally_export.hugging_face import PREFIX, find_hugging_face
from tally_export.options import DTYPES, asked_of_constructor, check_options, make_parser
from tally_export.outputs import check_outputs, num_classes_of, return_only
from tally_export.silence_inductor import silence_inductor
from tally_export.verify_export import Outputs, differ, run_module
from tally_export.resolve import find_model
from tally_export.sequences import SequenceForm
from tally_export.torchscript import (
    fixed_buffers,
    keeps_weights,
    make_torchscript,
    quiet_torchscript,
    save_and_verify,
)
from tally_export.training_mode import training_notes, why_random
from tally_export.weight_hints import hint_of
from tally_export.weights import WeightsFile, load_weights

AS_MADE = "as the function made them"


@dataclass(frozen=True)
class Subject:
    """A module ready for export, in its precision; notes: what the user should know."""

    module: torch.nn.Module
    name: str
    form: Description | SequenceForm
    dtype: torch.dtype
    weights: WeightsFile | None
    notes: tuple[str, ...]
    class_names: ClassNames | None
    is_own: bool = False  # made by the user's code, which may have loaded weights
    kwargs: dict[str, Any] = field(default_factory=dict)

    def num_classes(self, outputs: Outputs) -> int | None:
        """Of a text, an image or each of its tokens or pixels."""
        return num_classes_of(outputs) if isinstance(self.form, Description) else self.form.num_classes(outputs)

    def card(self, outputs: list[Outputs], facts: dict[str, Any]) -> dict[str, Any]:
        weights = self.weights.card_entry() if self.weights else {"origin": AS_MADE} if self.is_own else None
        source = {"model": self.name, "torch": torch.__version__, "weights": weights}
        if self.kwargs:
            source["kwargs"] = json.loads(json.dumps(self.kwargs, default=repr))
        names = card_entry(self.class_names, self.num_classes(outputs[0]))
        return make_card(self.form.card_entries(outputs, self.dtype), names | facts, source)


def from_library(args: argparse.Namespace) -> Subject:
    """Of torchvision, timm or the user: takes images or the like."""
    found = find_model(args.model, asked_of_constructor(args))
    form = describe(args, take_own_card(found.module), found)
    if args.format in ("pt2", "onnx"):
        form = replace(form, any_size=False)
        return_only(found.module, form.names)
    weights, notes = None, ()
    if found.pretrained:
        weights = WeightsFile(found.pretrained.path, found.pretrained.published.tag)
        notes = found.pretrained.notes
    return Subject(
        found.module, found.name, form, DTYPES[args.precision], weights, notes, form.class_names, found.is_own,
        dict(args.model_kwargs or []),
    )  # fmt: skip


def from_hugging_face(args: argparse.Namespace) -> Subject:
    path = Path(args.model.removeprefix(PREFIX))
    found = find_hugging_face(path, args.hf_class, args.weights is None, args.recipe)
    if args.recipe is not None and isinstance(found.form, SequenceForm):
        raise UsageError("--recipe is for models of images")
    notes = () if found.note is None else (found.note,)
    weights = found.weights and WeightsFile(found.weights)
    return Subject(found.module, found.name, found.form, DTYPES[args.precision], weights, notes, found.class_names)


def find_subject(args: argparse.Namespace) -> Subject:
    names = of_file(args.class_names) if args.class_names else None
    torch.manual_seed(args.seed)
    found = from_hugging_face(args) if args.model.startswith(PREFIX) else from_library(args)
    module = found.module.eval().to(found.dtype)  # first: weights are then rounded once, as by tally evaluate
    found = replace(found, module=module, class_names=names or found.class_names)
    if args.weights is None:
        return found
    options = {"weights-key": args.weights_key, "weights-prefix": args.weights_prefix}
    try:
        notes = load_weights(module, found.name, args.weights, options, args.output.absolute().parent)
    except ModelError as error:
        raise ModelError(f"{error}{hint_for(args, found, str(error))}") from error
    return replace(found, weights=WeightsFile(args.weights), notes=(*found.notes, *notes))


def hint_for(args: argparse.Namespace, subject: Subject, message: str) -> str:
    def with_classes(num_classes: int) -> torch.nn.Module:
        return find_model(args.model, replace(asked_of_constructor(args), num_classes=num_classes)).module

    return hint_of(message, args.model, subject.name, None if args.model.startswith(PREFIX) else with_classes)


def write_torchscript(args: argparse.Namespace, subject: Subject, outputs: list[Outputs]) -> tuple[str, list[str]]:
    """Returns how it was made, and notes."""
    module, form = subject.module, subject.form
    made = make_torchscript(module, form.example(subject.dtype), form.checks(subject.dtype), args.script)
    facts: dict[str, Any] = {"weights": "swappable" if keeps_weights(made.module, module) else "frozen"}
    if buffers := fixed_buffers(made.module, module):
        facts["fixed_buffers"] = buffers
    with atomic_path(args.output, args.overwrite) as temporary:
        save_and_verify(made.module, temporary, subject.card(outputs, facts), module, made.remaining)
    return made.how, made.notes


def write_package(args: argparse.Namespace, subject: Subject, outputs: list[Outputs]) -> tuple[str, list[str]]:
    """Returns how it was made, and notes."""
    with silence_inductor():
        from tally_export import package  # loads the compiler, which takes seconds

        open_sizes = subject.form.open_sizes if isinstance(subject.form, SequenceForm) else {}
        options = package.PackageOptions(
            args.device, args.swappable, args.batch_size, args.cpu_isa, args.max_autotune, open_sizes
        )
        package.check_device(args.device)
        module = subject.module.to(args.device)
        checks = package.laid_out(subject.form.package_checks(args.batch_size, subject.dtype), args.device)
        with package.device_compiler(args.device):
            compiled = package.compile_package(module, checks.usual[0], options)
            fixed_buffers = package.verify_package(compiled, options, module, checks)
        facts: dict[str, Any] = {"weights": "swappable" if args.swappable else "frozen"}
        if fixed_buffers:
            facts["fixed_buffers"] = fixed_buffers
        facts["training_mode"] = [finding.card_entry() for finding in compiled.training_mode]
        facts |= {"fixed_batch": args.batch_size, "package": {"precision": args.precision} | compiled.facts}
        card = subject.card(outputs, facts)
        with atomic_path(args.output, args.overwrite) as temporary:
            package.save_package(compiled, temporary, card)
    return f"compiled for {args.device}", training_notes(compiled.training_mode)


def write_onnx(args: argparse.Namespace, subject: Subject, outputs: list[Outputs]) -> tuple[str, list[str]]:
    """Returns how it was made, and notes."""
    from tally_export import onnx_file

    onnx_file.check_packages()
    checks = subject.form.package_checks(args.batch_size, subject.dtype)
    card = subject.card(outputs, {"weights": "frozen", "fixed_batch": args.batch_size})
    with atomic_path(args.output, args.overwrite) as temporary:
        onnx_file.save_and_verify(subject.module, subject.form, card, temporary, checks)
    return "converted to ONNX", []


WRITERS: dict[str, Callable[[argparse.Namespace, Subject, list[Outputs]], tuple[str, list[str]]]] = {
    "torchscript": write_torchscript,
    "pt2": write_package,
    "onnx": write_onnx,
}


def run_examples(args: argparse.Namespace, subject: Subject) -> list[Outputs]:
    """What the module returns, first for the example; for others, too, where shapes may differ in more than the batch."""
    form = subject.form
    batches = [form.example(subject.dtype)]
    if isinstance(form, Description) and args.batch_size is None:
        batches += form.others(subject.dtype)
    outputs = [run_module(subject.module, batch, form.names) for batch in batches]
    if differ(run_module(subject.module, batches[0], form.names), outputs[0]):
        raise ModelError(
            f"the model gives other results for the same batch {list(batches[0][0].shape)}, in evaluation mode: "
            + why_random(subject.module, batches[0])
        )
    return outputs


def check_scores(args: argparse.Namespace, form: Description, outputs: Outputs) -> str | None:
    """A sentence of warning, where the scores look like others than they are said to be."""
    note = check_outputs(outputs, form.outputs)
    num_classes = num_classes_of(outputs)
    if num_classes is not None and args.num_classes not in (None, num_classes):
        raise ModelError(f"the model returns {num_classes} classes, --num-classes is {args.num_classes}")
    return note


def export(args: argparse.Namespace) -> str:
    """Writes the file; returns the line that says so."""
    subject = find_subject(args)
    outputs = run_examples(args, subject)
    notes, preparation = [*subject.notes], None
    if isinstance(subject.form, Description):
        notes += filter(None, [subject.form.note, check_scores(args, subject.form, outputs[0])])
        preparation = subject.form.preparation(args.output)
    card_entry(subject.class_names, subject.num_classes(outputs[0]))  # raises before the work is done
    how, more = WRITERS[args.format](args, subject, outputs)
    for note in notes + more:
        print(f"note: {note}")
    if preparation:
        print(f"prepare images with: {preparation}")
    what = f"{args.precision} {subject.form.summary(outputs[0])}"
    return f"wrote {args.output}: {subject.name} {how}, {what}, {origin_of_weights(args, subject)}"


def origin_of_weights(args: argparse.Namespace, subject: Subject) -> str:
    if subject.weights is not None:
        return f"weights {subject.weights}"
    return f"weights {AS_MADE}" if subject.is_own else f"random weights (seed {args.seed})"


def main() -> None:
    args = make_parser(__doc__).parse_args()
    check_options(args)
    check_output(args.output, args.overwrite)
    os.environ["HF_HUB_OFFLINE"] = "1"  # before its library is loaded: what is not on this machine is not looked for
    quiet_torchscript()
    print(export(args))


if __name__ == "__main__":
    run_tool("export_model", main)
