# SPDX-License-Identifier: Apache-2.0
"""The exporter's command line: its options, and which of them go together."""

import argparse
import ast
from pathlib import Path
from typing import Any

import torch

from tally_data.errors import UsageError
from tally_data.options import ToolParser, add_image_options, add_output_options, positive, side_or_size

from .constructor import Asked
from .hugging_face import PREFIX
from .outputs import KINDS
from .recipe_choice import RECIPE_HELP

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_PACKAGE_OPTIONS = {"swappable": False, "device": "cpu", "batch_size": None, "cpu_isa": "default", "max_autotune": False}
_OF_LIBRARIES = ("pretrained", "img_size", "in_chans")
_NOT_OF_TRANSFORMERS = ("num_classes", "model_kwargs", "outputs", "output_names", "script", "input_shape", "channels",
                        "scale", "mean", "std")  # fmt: skip


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(positive(part) for part in text.split(","))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form C,H,W, such as 3,224,224") from None


def _words(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(","))
    if not all(found) or len(set(found)) != len(found):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form A,B,... with different names")
    return found


def _keyword(text: str) -> tuple[str, Any]:
    """drop_rate=0.1: the value is a Python literal, else a text, as in timm's own scripts."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _image_size(text: str) -> tuple[int, int]:
    found = side_or_size(text)
    return (found, found) if isinstance(found, int) else found


def make_parser(description: str | None) -> argparse.ArgumentParser:
    parser = ToolParser(description)
    parser.add_argument("--model", required=True, metavar="NAME", help="library name, module:function or hf:FOLDER")
    _add_constructor_options(parser)
    parser.add_argument("--hf-class", metavar="NAME", help="of transformers; default: the one that config.json names")
    parser.add_argument("--weights", type=Path, metavar="PATH", help="weights to load")
    parser.add_argument(
        "--weights-key", metavar="KEY", help="where in a checkpoint the state_dict is (default: usual keys)"
    )
    parser.add_argument(
        "--weights-prefix", metavar="PREFIX", help="taken off the names; tensors without it are left out"
    )
    parser.add_argument("--format", choices=("torchscript", "pt2", "onnx"), default="torchscript",
                        help="form of the file (default: torchscript)")
    add_output_options(parser, "the model file (.pt, .pt2, .onnx)")
    parser.add_argument(
        "--input-shape",
        type=_sizes,
        metavar="C,H,W",
        help="of one sample; default: what the model says, or found by trying",
    )
    parser.add_argument("--outputs", choices=KINDS, help="what the model returns, default logits")
    parser.add_argument(
        "--output-names", type=_words, metavar="A,B,...",
        help="where it returns a tuple, of its first tensors; where a dict, which of its tensors are wanted",
    )  # fmt: skip
    parser.add_argument("--class-names", type=Path, metavar="FILE",
                        help="a text with the name of a class in each line, in the order of the outputs")
    parser.add_argument("--recipe", metavar="TAG", help=RECIPE_HELP)
    parser.add_argument("--precision", choices=tuple(DTYPES), default="fp32", help="of weights and input, default %(default)s")
    parser.add_argument("--script", action="store_true", help="compile the source instead of tracing an example")
    parser.add_argument("--seed", type=int, default=0, help="for weights that are not loaded, default %(default)s")
    _add_package_options(parser)
    add_image_options(parser, None)
    return parser


def _add_constructor_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("making the model")
    group.add_argument("--pretrained", nargs="?", const="", metavar="TAG",
                       help="the library's own weights, from its cache on this machine; default TAG: the library's choice")
    group.add_argument("--num-classes", type=positive, metavar="C", help="given to the model's constructor")
    group.add_argument("--model-kwargs", nargs="+", action="extend", type=_keyword, metavar="NAME=VALUE",
                       help="given to it, too, as Python literals, else as texts: drop_rate=0.1 act_layer=gelu")
    group.add_argument("--img-size", type=_image_size, metavar="N|HxW",
                       help="of the images; given to models of timm that are made for one size")
    group.add_argument("--in-chans", type=positive, metavar="N", help="channels of the images, for models of timm")


def _add_package_options(parser: argparse.ArgumentParser) -> None:
    package = parser.add_argument_group("for --format pt2")
    package.add_argument("--swappable", action="store_true", help="let tally evaluate --weights replace the weights")
    package.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="to run on, default %(default)s")
    package.add_argument("--batch-size", type=positive, metavar="N", help="the only batch size it takes (also of --format onnx); default: any")
    package.add_argument(
        "--cpu-isa",
        choices=("default", "avx2", "avx512"),
        default="default",
        help="instruction set of the processors it is to run on; default: this machine's",
    )
    package.add_argument(
        "--max-autotune", action="store_true", help="with --device cuda: time several kernels for each operation"
    )


def asked_of_constructor(args: argparse.Namespace) -> Asked:
    """Raises UsageError where --model-kwargs names something twice."""
    given = args.model_kwargs or []
    kwargs = dict(given)
    if len(kwargs) < len(given):
        raise UsageError("--model-kwargs gives the same name twice")
    return Asked(args.num_classes, kwargs, args.img_size, args.in_chans, args.pretrained)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check_model_options(args: argparse.Namespace) -> None:
    library, colon, _ = args.model.rpartition(":")
    if colon and library not in ("torchvision", "timm"):
        for name in _OF_LIBRARIES:
            if getattr(args, name) is not None:
                raise UsageError(f"{_dashed(name)} is for the models of torchvision and timm, not for '{args.model}'")
    if args.input_shape and (args.img_size or args.in_chans):
        raise UsageError("--input-shape says the size and channels of the images: give it, or --img-size and --in-chans")
    if args.pretrained is not None and args.weights is not None:
        raise UsageError("--pretrained and --weights are two origins of the weights: give one")
    if not args.model.startswith(PREFIX):
        if args.hf_class is not None:
            raise UsageError("--hf-class is for --model hf:FOLDER")
        return
    for name in _NOT_OF_TRANSFORMERS:
        if getattr(args, name):
            raise UsageError(f"{_dashed(name)} is not for models of transformers, whose config.json says it")


def check_options(args: argparse.Namespace) -> None:
    _check_model_options(args)
    for name in ("weights_key", "weights_prefix"):
        if getattr(args, name) is not None and args.weights is None:
            raise UsageError(f"{_dashed(name)} is given without --weights")
    if args.format == "pt2":
        if args.script:
            raise UsageError("--script is for --format torchscript")
        if args.max_autotune and args.device != "cuda":
            raise UsageError("--max-autotune is for --device cuda")
        return
    _check_name(args)
    allowed = {"batch_size"} if args.format == "onnx" else set()
    for name, default in _PACKAGE_OPTIONS.items():
        if name not in allowed and getattr(args, name) != default:
            raise UsageError(f"{_dashed(name)} is for --format pt2")
    if args.format == "onnx" and args.precision != "fp32":
        raise UsageError("--format onnx is written in fp32: tally evaluate --precision bf16 computes in bf16")
    if args.format == "onnx" and args.script:
        raise UsageError("--script is for --format torchscript")


def _check_name(args: argparse.Namespace) -> None:
    for suffix, kind in {".pt2": "a compiled package", ".onnx": "an ONNX file"}.items():
        if args.output.suffix == suffix and args.format != suffix[1:]:
            raise UsageError(f"'{args.output}' is named like {kind}: add --format {suffix[1:]}, or name it .pt")
