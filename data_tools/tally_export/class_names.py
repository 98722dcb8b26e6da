# SPDX-License-Identifier: Apache-2.0
"""The names of a model's classes, in the order of its outputs, for the model card."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tally_data.class_order import read_class_names
from tally_data.errors import DataError, ModelError, ToolError

from .published import Published

_OF_IMAGENET = re.compile(r"in(1|12|21|22)k")  # in timm's tags: the data that weights were trained on last
_PLACEHOLDER = re.compile(r"LABEL_\d+")  # of transformers, where nobody named the classes
_NAMED_HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForImageClassification")


@dataclass(frozen=True)
class ClassNames:
    """names: in the order of the outputs; giver: who named this model's classes, where another number of them is a fault.

    Names of a library that do not fit are left out: its weights may have been given another head.
    """

    names: tuple[str, ...]
    giver: str | None = None
    fault: type[ToolError] = ModelError


def of_file(path: Path) -> ClassNames:
    """A line for each class. Raises DataError for other files."""
    return ClassNames(tuple(read_class_names(path)), f"'{path}'", DataError)


def of_own_card(own: dict[str, Any]) -> ClassNames | None:
    """Of a module's tally_card. Raises ModelError for what are no names."""
    found = own.get("class_names")
    if found is None:
        return None
    if not isinstance(found, list | tuple) or not all(isinstance(name, str) and name.strip() for name in found):
        raise ModelError("'class_names' of the module's tally_card must be a list of texts")
    return ClassNames(tuple(found), "the module's tally_card")


def of_published(weights: Published) -> ClassNames | None:
    """Of the data that a library's weights were trained on: ImageNet's synsets, or what the library says."""
    found = _of_timm(weights) if weights.name.startswith("timm:") else _of_torchvision(weights)
    return ClassNames(tuple(found)) if found else None


def _of_torchvision(weights: Published) -> Sequence[str] | None:
    import torchvision

    found = torchvision.models.get_weight(weights.full_name).meta["categories"]
    titles = torchvision.models.ResNet18_Weights.IMAGENET1K_V1.meta["categories"]
    return _synsets("imagenet-1k") if found == titles else found


def _of_timm(weights: Published) -> Sequence[str] | None:
    from timm.data import infer_imagenet_subset
    from timm.models import get_pretrained_cfg

    config = get_pretrained_cfg(weights.full_name)
    if config.label_names:
        return config.label_names
    subset = infer_imagenet_subset({"num_classes": weights.num_classes})
    return _synsets(subset) if subset and _OF_IMAGENET.search(weights.tag) else None


def _synsets(subset: str) -> Sequence[str]:
    from timm.data import ImageNetInfo

    return ImageNetInfo(subset).label_names()


def of_transformers(config: Any, class_name: str) -> ClassNames | None:
    """Of config.json, where somebody named the classes there."""
    labels = getattr(config, "id2label", None)
    if not class_name.endswith(_NAMED_HEADS) or not labels or sorted(labels) != list(range(len(labels))):
        return None
    names = tuple(str(labels[place]) for place in range(len(labels)))
    return None if all(map(_PLACEHOLDER.fullmatch, names)) else ClassNames(names)


def card_entry(found: ClassNames | None, num_classes: int | None) -> dict[str, list[str]]:
    """The card's `class_names`, or nothing. num_classes: where the outputs show it."""
    if found is None:
        return {}
    if len(found.names) == num_classes:
        return {"class_names": list(found.names)}
    if found.giver is None:
        return {}
    shown = "the model's outputs do not show how many it has" if num_classes is None else f"the model has {num_classes}"
    raise found.fault(f"{found.giver} names {len(found.names)} classes, {shown}")
