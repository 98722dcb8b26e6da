# SPDX-License-Identifier: Apache-2.0
"""The recipe of a model that `prepare_imagefolder.py --like` names: an exported file, a library's name, hf:FOLDER."""

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

from tally_data.decode import CROP_MODES, FILTERS
from tally_data.encoding import ImageEncoding
from tally_data.errors import EnvironmentFault, ModelError, UsageError

from .recipe import Recipe, library_recipe, of_timm, of_torchvision

CARD_NAME = "tally.json"
CARD_KEY = "tally"  # of ONNX metadata
_HUGGING_FACE = "hf:"


def recipe_like(model: str, tag: str | None) -> Recipe:
    """tag: of --recipe, a full name or, of a library's model, its tag alone.

    A library's model without a tag has the recipe of its default weights. Raises UsageError where the recipe is not
    known, ModelError for a file that is no model.
    """
    if Path(model).is_file():
        return _of_file(Path(model), tag)
    if model.startswith(_HUGGING_FACE):
        return _of_folder(Path(model.removeprefix(_HUGGING_FACE)), tag)
    return _of_library(model, tag)


def read_card(path: Path) -> dict[str, Any]:
    """The card inside of a TorchScript file or a compiled package, else the one beside it."""
    text = _text_inside(path)
    beside = path.with_name(f"{path.name}.json")
    if text is None and beside.is_file():
        text = beside.read_bytes()
    if text is None:
        raise ModelError(f"'{path}' has no model card: it is not made by export_model.py, and there is no '{beside}'")
    try:
        card = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the model card of '{path}' is no JSON: {error}") from error
    if not isinstance(card, dict):
        raise ModelError(f"the model card of '{path}' is no JSON object")
    return card


def _text_inside(path: Path) -> bytes | str | None:
    if path.suffix == ".onnx":
        return _text_in_onnx(path)
    if not zipfile.is_zipfile(path):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(f"/extra/{CARD_NAME}"):
                    return archive.read(name)
                if name.endswith("_metadata.json"):
                    metadata = json.loads(archive.read(name))
                    if isinstance(metadata, dict) and isinstance(metadata.get("tally"), str):
                        return metadata["tally"]
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(f"'{path}' cannot be read as a model file: {error}") from error
    return None


def _text_in_onnx(path: Path) -> str | None:
    try:
        import onnx
    except ImportError as error:
        raise EnvironmentFault(f"to read '{path}' the Python package 'onnx' is needed: jobs/setup.sh --with-openvino") from error
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # of protobuf, which onnx does not wrap
        raise ModelError(f"'{path}' cannot be read as a model file: {error}") from error
    return next((entry.value for entry in model.metadata_props if entry.key == CARD_KEY), None)


def _of_file(path: Path, tag: str | None) -> Recipe:
    card = read_card(path)
    name = card.get("source", {}).get("model") if isinstance(card.get("source"), dict) else None
    if tag is not None:
        return _with_tag(name if isinstance(name, str) else "", tag)
    try:
        return _of_card(card, str(name or path))
    except (AttributeError, KeyError, TypeError, ValueError, UsageError) as error:
        raise ModelError(f"the recipe in the model card of '{path}' is wrong: {error!r}") from error


def _of_card(card: dict[str, Any], name: str) -> Recipe:
    entry = dict(card.get("recipe") or {"source": name})
    encoding = None
    if (given := card.get("normalisation")) is not None:
        encoding = ImageEncoding(given["channels"], float(given["scale"]), tuple(given["mean"]), tuple(given["std"]))

    def sizes(key: str) -> tuple[int, int] | None:
        if entry.get(key) is None:
            return None
        height, width = map(int, entry[key])
        if min(height, width) < 1:
            raise ValueError(f"{key} is {entry[key]}")
        return height, width

    for key, known in (("crop_mode", CROP_MODES), ("interpolation", FILTERS)):
        if entry.get(key) is not None and entry[key] not in known:
            raise ValueError(f"{key} is {entry[key]!r}, expected one of {', '.join(known)}")
    return Recipe(
        str(entry["source"]), encoding, sizes("resize"), sizes("crop"), entry.get("crop_share"), entry.get("crop_mode"),
        entry.get("interpolation"),
    )  # fmt: skip


def _of_folder(folder: Path, tag: str | None) -> Recipe:
    from .hugging_face_recipe import of_hugging_face

    if tag is not None:
        return library_recipe(tag)
    choice = of_hugging_face(folder)
    if choice.recipe is None:
        raise UsageError(f"--like: it is not known how '{folder}' prepares images; name weights with --recipe ({choice.note})")
    return choice.recipe


def _of_library(model: str, tag: str | None) -> Recipe:
    """Of the default weights, whose tag is the library's own choice."""
    if tag is not None:
        return _with_tag(model, tag)
    prefix = model.rpartition(":")[0]
    if prefix not in ("", "timm", "torchvision"):
        raise UsageError(f"--like: '{model}' is no file, and a function has no recipe of its own; name its weights with --recipe")
    library, name = _library_of(model)
    if library == "torchvision":
        import torchvision

        return of_torchvision(torchvision.models.get_model_weights(name).DEFAULT)
    if library == "timm" and (config := _timm_config(name)) is not None:
        return of_timm(f"{config.architecture}.{config.tag}" if config.tag else config.architecture, config.to_dict())
    raise UsageError(
        f"--like: there is no file '{model}', and "
        + (f"{prefix} has no weights" if prefix else "neither torchvision nor timm has weights")
        + " of a model of that name"
    )


def _with_tag(model: str, tag: str) -> Recipe:
    library, name = _library_of(model)
    if not library:
        return library_recipe(tag)
    from .published import published_weights
    from .recipe_choice import recipe_of_tag

    architecture = name.partition(".")[0]
    return recipe_of_tag(tag, f"{library}:{architecture}", published_weights(library, architecture))


def _library_of(model: str) -> tuple[str, str]:
    """The library that has a model of this name, torchvision before timm, and the name there; "" where neither has one."""
    from .model_zoos import torchvision_names

    prefix, _, name = model.rpartition(":")
    if prefix in ("", "torchvision") and name in torchvision_names():
        return "torchvision", name
    if prefix in ("", "timm"):
        import timm

        if timm.is_model(name.partition(".")[0]):
            return "timm", name
    return "", name


def _timm_config(name: str) -> Any:
    """A pretrained_cfg, of the default tag where `name` has none; None where timm has no such weights."""
    from timm.models import get_pretrained_cfg

    try:
        config = get_pretrained_cfg(name, allow_unregistered=False)
    except (RuntimeError, ValueError):
        return None
    return config if config is not None and config.has_weights else None
