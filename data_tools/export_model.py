#!/usr/bin/env python3
"""Writes a model as a file that tally can run, with its model card (docs/model-card.md).

--model is a torchvision or timm name (resnet18, torchvision:resnet18, timm:convnext_tiny), or a function of your own
that returns a torch.nn.Module: package.module:function (the current directory is searched) or path/to/file.py:function.
--weights is a state_dict (.pt, .pth), a training checkpoint that holds one, or .safetensors; without it the weights are
as the constructor left them. The file keeps its weights replaceable: `tally evaluate --weights` can swap them.
The written file is read back and must give what the model gives, on batches of other sizes.
"""

import argparse
from pathlib import Path
from typing import Any

import torch

from tally_data.atomic import atomic_path, check_output
from tally_data.errors import ModelError, UsageError, run_tool
from tally_data.options import ToolParser, add_image_options, add_output_options, positive
from tally_export.card import KINDS, describe, make_card, take_own_card
from tally_export.resolve import find_model
from tally_export.torchscript import (
    check_kind,
    fixed_buffers,
    keeps_weights,
    make_torchscript,
    quiet_torchscript,
    random_batch,
    run_module,
    save_and_verify,
)
from tally_export.weights import file_sha256, load_weights

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(positive(part) for part in text.split(","))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form C,H,W, such as 3,224,224") from None


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    parser.add_argument("--model", required=True, metavar="NAME", help="library name, or module:function")
    parser.add_argument("--weights", type=Path, metavar="PATH", help="weights to load")
    parser.add_argument(
        "--weights-key", metavar="KEY", help="where in a checkpoint the state_dict is (default: usual keys)"
    )
    parser.add_argument("--format", choices=("torchscript",), default="torchscript",
                        help="form of the file (default: torchscript)")
    add_output_options(parser, "the model file (.pt)")
    parser.add_argument("--num-classes", type=positive, metavar="C", help="given to the model's constructor")
    parser.add_argument(
        "--input-shape",
        type=sizes,
        metavar="C,H,W",
        help="of one sample; default: what the model says, or found by trying",
    )
    parser.add_argument(
        "--batch-size", type=positive, default=4, metavar="N", help="of the example, default %(default)s"
    )
    parser.add_argument("--outputs", choices=KINDS, help="what the model returns, default logits")
    parser.add_argument(
        "--dtype", choices=tuple(DTYPES), default="float32", help="of weights and input, default %(default)s"
    )
    parser.add_argument(
        "--script", action="store_true", help="compile the source instead of tracing an example"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="for weights that are not loaded, default %(default)s"
    )
    add_image_options(parser, None)
    return parser


def source_of(args: argparse.Namespace, name: str) -> dict[str, Any]:
    weights = None
    if args.weights is not None:
        weights = {"path": args.weights.name, "sha256": file_sha256(args.weights)}
    return {"model": name, "torch": torch.__version__, "weights": weights}


def export(args: argparse.Namespace) -> str:
    """Writes the file; returns the line that says so."""
    torch.manual_seed(args.seed)
    found = find_model(args.model, args.num_classes)
    module, dtype = found.module, DTYPES[args.dtype]
    what = describe(args, take_own_card(module), found)
    if args.weights is not None:
        load_weights(module, args.weights, args.weights_key)
    module.eval().to(dtype)

    batch_sizes = (args.batch_size, args.batch_size + 3, 1)
    example, *others = (
        random_batch(size, what.input_shape, dtype, what.normalisation) for size in batch_sizes
    )
    if what.any_size:
        larger = (what.input_shape[0], what.input_shape[1] + 32, what.input_shape[2] + 64)
        others.append(random_batch(2, larger, dtype, what.normalisation))
    output = run_module(module, example)
    if args.num_classes not in (None, output.shape[1]):
        raise ModelError(f"the model returns {output.shape[1]} classes, --num-classes is {args.num_classes}")
    warning = check_kind(output, what.kind)
    exported, how = make_torchscript(module, example, others, args.script)
    weights = {"weights": "swappable" if keeps_weights(exported, module) else "frozen"}
    if buffers := fixed_buffers(exported, module):
        weights["fixed_buffers"] = buffers
    card = make_card(what, output, dtype, weights, source_of(args, found.name))
    with atomic_path(args.output, args.overwrite) as temporary:
        save_and_verify(exported, temporary, card, module, others)
    if warning is not None:
        print(f"note: {warning}")
    shape = "any size" if what.any_size else "x".join(map(str, what.input_shape))
    origin = f"weights {args.weights.name}" if args.weights else f"weights not loaded (seed {args.seed})"
    return f"wrote {args.output}: {found.name} {how}, {args.dtype} {shape} to {output.shape[1]} {what.kind}, {origin}"


def main() -> None:
    args = make_parser().parse_args()
    if args.weights_key is not None and args.weights is None:
        raise UsageError("--weights-key is given without --weights")
    check_output(args.output, args.overwrite)
    quiet_torchscript()
    print(export(args))


if __name__ == "__main__":
    run_tool("export_model", main)
