# SPDX-License-Identifier: Apache-2.0
"""How a Hugging Face folder's image processor prepares images: what of it the model card can say."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tally_data.encoding import ImageEncoding
from tally_data.errors import ModelError, UsageError
from tally_data.geometry import Size

from .recipe import Recipe
from .recipe_choice import Choice

# Processors that do no more to the geometry than resize and cut the middle out.
_PLAIN_PROCESSORS = ("Beit", "Bit", "CLIP", "ConvNext", "DeiT", "EfficientNet", "MobileNetV1", "MobileNetV2", "Siglip", "ViT")
_RESAMPLING = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # numbers of Pillow
_PROOF_SIZE = (224, 224)  # of the images that the encoding is tried on; a ramp over them has all values of a byte
_TOLERANCE = 1e-6


def of_hugging_face(folder: Path) -> Choice:
    """Of the folder's preprocessor_config.json. What cannot be said of it is not in the recipe, and is a note.

    Raises ModelError where the file is not a JSON object.
    """
    file = folder / "preprocessor_config.json"
    if not file.is_file():
        return Choice(None, f"'{folder}' has no {file.name}: the card does not say how images are prepared (--recipe)")
    _check_json(file)
    import transformers

    try:
        processor = transformers.AutoImageProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        found = {name: value for name, value in processor.to_dict().items() if value is not None}
    except Exception as error:  # the library has no error of its own for this, and reads what anyone wrote
        reason = (str(error).strip().splitlines() or [""])[0]
        note = (
            f"the image processor of '{file}' is not known here ({type(error).__name__}: {reason}): "
            "the card does not say how images are prepared (--recipe)"
        )
        return Choice(None, note)
    kind = type(processor).__name__.removesuffix("Fast").removesuffix("Pil").removesuffix("ImageProcessor")
    return _described(Recipe(f"hf:{folder.resolve().name}:{kind}ImageProcessor"), kind, processor, found)


def _described(recipe: Recipe, kind: str, processor: Any, found: dict[str, Any]) -> Choice:
    """The recipe, with what is known of the processor's sizes and normalisation."""
    missing = []
    is_plain = kind in _PLAIN_PROCESSORS and not found.get("do_pad")
    sizes = _sizes(found) if is_plain and found.get("do_resize") else {}
    recipe = replace(recipe, **sizes)
    encoding = _encoding(found)
    if encoding is not None and _is_proved(encoding, processor, found):
        recipe = replace(recipe, encoding=encoding)
    else:
        missing.append(
            f"how {recipe.source} normalises images is not known to be (u8 * scale - mean) / std and not in the card"
        )
    if recipe.crop is None:
        missing.append(f"how {recipe.source} resizes and crops images is not in the card")
    note = f"{'; '.join(missing)} (--recipe)" if missing else None
    return Choice(recipe if recipe.known else None, note)


def _check_json(file: Path) -> None:
    try:
        is_object = isinstance(json.loads(file.read_bytes()), dict)
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"'{file}' cannot be read as JSON: {error}") from error
    if not is_object:
        raise ModelError(f"'{file}' is not a JSON object")


def _encoding(found: dict[str, Any]) -> ImageEncoding | None:
    """What the processor's settings say of it; whether the processor does no more is for _is_proved."""
    try:
        scale = float(found["rescale_factor"]) if found.get("do_rescale") else 1.0
        mean, std = (0.0,) * 3, (1.0,) * 3
        if found.get("do_normalize"):
            mean, std = (tuple(map(float, found[name])) for name in ("image_mean", "image_std"))
        return ImageEncoding("BGR" if found.get("do_flip_channel_order") else "RGB", scale, mean, std)
    except (KeyError, TypeError, ValueError, UsageError):
        return None


def _is_proved(encoding: ImageEncoding, processor: Any, found: dict[str, Any]) -> bool:
    """Whether the processor makes the same numbers of images that it need not resize, crop or pad."""
    rows, columns = torch.meshgrid(*map(torch.arange, _PROOF_SIZE), indexing="ij")
    channels = torch.tensor([0, 85, 171])  # apart, so that an exchange of channels shows
    ramp = ((rows + columns)[:, :, None] + channels) % 256
    constant = (channels + 16).expand(*_PROOF_SIZE, 3)
    off = {name: False for name in ("do_resize", "do_center_crop", "do_pad") if name in found}
    for image in (ramp, constant):
        stored = image.flip(-1) if encoding.channels == "BGR" else image
        mean, std = (torch.tensor(values, dtype=torch.float64) for values in (encoding.mean, encoding.std))
        expected = ((stored * encoding.scale - mean) / std).permute(2, 0, 1)
        try:
            pixels = image.to(torch.uint8).numpy()
            given = processor(images=[pixels], return_tensors="pt", input_data_format="channels_last", **off)
            made = given["pixel_values"][0].to(torch.float64)
        except Exception:  # as above; a processor that refuses such an image proves nothing
            return False
        if made.shape != expected.shape or not torch.allclose(made, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
            return False
    return True


def _sizes(found: dict[str, Any]) -> dict[str, Any]:
    """Values of a Recipe; none where the settings have a form that a recipe cannot say."""
    try:
        mode, resize = _resize_of(found["size"])
        crop = _both_sides(found["crop_size"]) if found.get("do_center_crop") else None
        if "crop_pct" in found:  # ConvNeXT's: below 384 pixels it cuts, from there on it squashes
            shorter = resize[0]
            cuts = shorter < 384
            mode, crop = "center" if cuts else "squash", (shorter, shorter)
            resize = (int(shorter / found["crop_pct"]),) * 2 if cuts else crop
        elif crop is None and mode == "squash":
            crop = resize
        share = found.get("crop_pct") if mode == "center" else None
        share = share or (crop and crop[0] / resize[0])
        interpolation = _RESAMPLING[int(found["resample"])]
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return {}
    return {"resize": resize, "crop": crop, "crop_share": share, "crop_mode": mode, "interpolation": interpolation}


def _resize_of(size: dict[str, Any]) -> tuple[str, Size]:
    given = {name: value for name, value in size.items() if value is not None}
    if set(given) == {"shortest_edge"}:
        return "center", (int(given["shortest_edge"]),) * 2
    return "squash", _both_sides(given)


def _both_sides(size: dict[str, Any]) -> Size:
    """Raises KeyError or ValueError for other forms: only the longer side, a number of pixels."""
    height, width = int(size["height"]), int(size["width"])
    if min(height, width) < 1:
        raise ValueError(f"no size of an image: {size}")
    return height, width
