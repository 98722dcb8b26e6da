# SPDX-License-Identifier: Apache-2.0
"""How a library prepares the images for weights of its own: what stands of it in the model card."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from tally_data.encoding import IMAGENET, ImageEncoding
from tally_data.errors import ModelError, UsageError
from tally_data.geometry import Size


@dataclass(frozen=True)
class Recipe:
    """source: whose it is, "timm:vit_tiny_patch16_224.augreg_in21k_ft_in1k". What is not known is None.

    An image is resized to `resize`, the middle of it, of the size `crop`, is what the model gets. crop_mode: `center`
    fits the shorter side into `resize`, `border` the longer one, both keep the proportions; `squash` does not.
    crop_share: what the library calls crop_pct, about crop / resize.
    """

    source: str
    encoding: ImageEncoding | None = None
    resize: Size | None = None
    crop: Size | None = None
    crop_share: float | None = None
    crop_mode: str | None = None
    interpolation: str | None = None

    @property
    def known(self) -> dict[str, Any]:
        """By name, without the source and what is not known."""
        values = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        return {name: value for name, value in values.items() if value is not None}

    def card_entry(self) -> dict[str, Any]:
        """The card's object `recipe`. The encoding is not in it: it stands under `normalisation`."""
        known = {name: value for name, value in self.known.items() if name != "encoding"}
        return {"source": self.source} | {
            name: list(value) if isinstance(value, tuple) else value for name, value in known.items()
        }

    def without_sizes(self) -> "Recipe":
        return replace(self, resize=None, crop=None, crop_share=None)

    def says_all(self, encoding: ImageEncoding | None) -> bool:
        """Whether images can be prepared by it; encoding: the card's normalisation, which options may have changed."""
        words = (self.crop_mode, self.interpolation, self.resize, self.crop)
        return encoding is not None and all(word is not None for word in words)


def shared_part(source: str, recipes: Sequence[Recipe]) -> Recipe:
    """What all of them agree on."""
    same = {
        name: value for name, value in recipes[0].known.items() if all(other.known.get(name) == value for other in recipes)
    }
    return Recipe(source, **same)


def differing(recipes: Iterable[Recipe]) -> list[str]:
    """Names of what they do not agree on, as the card calls them."""
    found: dict[str, set[Any]] = {}
    for recipe in recipes:
        for name, value in recipe.known.items():
            found.setdefault("normalisation" if name == "encoding" else name, set()).add(value)
    return [name for name, values in found.items() if len(values) > 1]


def of_timm(name: str, config: dict[str, Any], size: tuple[int, ...] | None = None) -> Recipe:
    """As timm's own validation prepares images. config: a pretrained_cfg; size: height and width in place of its own."""
    from timm.data import resolve_data_config

    asked = {"input_size": (3, *size)} if size else {}
    found = resolve_data_config(asked, pretrained_cfg=config, use_test_size=True)
    crop = (int(found["input_size"][1]), int(found["input_size"][2]))
    share = float(found["crop_pct"])
    height, width = (int(side / share) for side in crop)  # timm rounds down
    encoding = ImageEncoding("RGB", IMAGENET.scale, found["mean"], found["std"])
    return Recipe(
        f"timm:{name}", encoding, (height, width), crop, share, found["crop_mode"], found["interpolation"]
    )


def of_torchvision(weights: Any) -> Recipe:
    """weights: a member of one of torchvision's enums, such as ResNet18_Weights.IMAGENET1K_V1."""
    source, found = f"torchvision:{weights}", weights.transforms()
    if type(found).__name__ != "ImageClassification":
        raise ModelError(f"images for {source} are prepared by {type(found).__name__}, which no recipe can say")
    encoding = ImageEncoding("RGB", IMAGENET.scale, tuple(found.mean), tuple(found.std))
    resize, crop = found.resize_size[0], found.crop_size[0]
    return Recipe(
        source, encoding, (resize, resize), (crop, crop), crop / resize, "center", found.interpolation.value
    )


def library_recipe(text: str) -> Recipe:
    """Of a full name: `torchvision:ResNet18_Weights.IMAGENET1K_V1`, `timm:resnet18.a1_in1k`, also without the library.

    Raises UsageError where there are no such weights.
    """
    library, _, name = text.rpartition(":")
    if library in ("", "torchvision") and "_Weights." in name:
        import torchvision

        try:
            return of_torchvision(torchvision.models.get_weight(name))
        except (ValueError, KeyError) as error:
            raise UsageError(f"--recipe: torchvision has no weights '{name}'") from error
    if library in ("", "timm") and "." in name:
        from timm.models import get_arch_pretrained_cfgs

        config = get_arch_pretrained_cfgs(name).get(name)
        if config is not None:
            return of_timm(name, config.to_dict())
    raise UsageError(
        f"--recipe: there are no weights '{text}'; a full name is one such as "
        "timm:resnet18.a1_in1k or torchvision:ResNet18_Weights.IMAGENET1K_V1"
    )
