# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision and timm, made anew or with the library's own weights."""

import difflib
from dataclasses import replace
from typing import Any

from torch import nn

from tally_data.errors import ModelError

from .constructor import Asked, FoundModel, call_constructor
from .pretrained import find_timm_weights, find_torchvision_weights

_CHANNELS = 3  # that torchvision's models take


def torchvision_names() -> list[str]:
    import torchvision

    return torchvision.models.list_models(module=torchvision.models)


def is_timm_model(name: str) -> bool:
    import timm

    return timm.is_model(name.partition(".")[0])


def library_model(name: str, asked: Asked) -> FoundModel:
    """Of torchvision, else of timm. Raises ModelError where neither has one of that name."""
    if name in torchvision_names():
        return torchvision_model(name, asked)
    if is_timm_model(name):
        return timm_model(name, asked)
    import timm

    raise _unknown(name, "torchvision or timm", torchvision_names() + timm.list_models())


def torchvision_model(name: str, asked: Asked) -> FoundModel:
    import torchvision

    if name not in torchvision_names():
        raise _unknown(name, "torchvision", torchvision_names())
    if asked.in_chans is not None:
        raise ModelError(
            f"torchvision's constructor of {name} takes no number of channels (--in-chans): write a function of your own "
            "that makes the model and replaces its first convolution, and name it as --model FILE.py:FUNCTION"
        )
    enum = torchvision.models.get_model_weights(name)
    pretrained = None if asked.pretrained is None else find_torchvision_weights(name, asked.pretrained)
    weights = enum[pretrained.published.tag] if pretrained else None
    module = call_constructor(
        torchvision.models.get_model_builder(name), name, asked, weights=weights, progress=False
    )
    side = (weights or enum.DEFAULT).transforms().crop_size[0]  # reads no weights
    return FoundModel(module, f"torchvision:{name}", (_CHANNELS, *(asked.img_size or (side, side))), pretrained=pretrained)


def timm_model(name: str, asked: Asked) -> FoundModel:
    import timm

    if not is_timm_model(name):
        raise _unknown(name, "timm", timm.list_models())
    pretrained = None if asked.pretrained is None else find_timm_weights(name, asked.pretrained)
    name = pretrained.published.full_name if pretrained else name

    def make(**options: Any) -> nn.Module:
        return timm.create_model(name, pretrained=pretrained is not None, exportable=True, **options)

    module = call_constructor(make, name, asked, **_input_options(name, asked))
    if pretrained and module.num_classes != pretrained.published.num_classes:
        classes = pretrained.published.num_classes
        note = f"{name} has weights for {classes} classes: the classifier for {module.num_classes} is random"
        pretrained = replace(pretrained, notes=(*pretrained.notes, note))
    channels, *size = module.default_cfg["input_size"]
    shape = (asked.in_chans or channels, *(asked.img_size or size))
    return FoundModel(module, f"timm:{name}", shape, pretrained=pretrained)


def _input_options(name: str, asked: Asked) -> dict[str, Any]:
    """in_chans, and img_size for those models that are made for one size."""
    from timm.models import resolve_model_input_args

    wanted = {"img_size": asked.img_size, "in_chans": asked.in_chans}
    found = resolve_model_input_args(name, wanted, **asked.kwargs)
    return {key: found[key] for key in wanted if key in found}


def _unknown(name: str, library: str, names: list[str]) -> ModelError:
    close = difflib.get_close_matches(name, sorted(set(names)), 3)
    hint = f"did you mean {', '.join(close)}?" if close else "for a model of your own write module:function"
    return ModelError(f"there is no model '{name}' in {library}; {hint}")
