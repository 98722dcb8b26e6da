# SPDX-License-Identifier: Apache-2.0
"""Which recipe the card of a model has: of the weights that --recipe, their name or their file says, or of all of them."""

import re
from dataclasses import dataclass
from pathlib import Path

from tally_data.errors import UsageError

from .recipe import Recipe, differing, library_recipe, of_timm, of_torchvision, shared_part
from .resolve import FoundModel
from .weights import digest_of

NONE = "none"
RECIPE_HELP = (
    "of which weights the card says how images are prepared: IMAGENET1K_V1, augreg_in21k_ft_in1k, a full name such as "
    "timm:resnet18.a1_in1k, or none; default: what the library's weights of that model share"
)
_SHOWN = 6  # tags in a note
_HASH_IN_NAME = re.compile(r"-([0-9a-f]{8,})\.")  # resnet18-f37072fd.pth: how its sha256 begins
_HUB_FOLDER = "models--timm--"  # in the cache of Hugging Face's hub


@dataclass(frozen=True)
class Published:
    """One set of weights of a library. tag: as --recipe takes it; file: the name it is published under, or empty."""

    tag: str
    num_classes: int | None
    file: str
    recipe: Recipe


@dataclass(frozen=True)
class Choice:
    """note: what the user should know of how it was chosen."""

    recipe: Recipe | None
    note: str | None = None

    def for_size(self, size: tuple[int, ...]) -> "Choice":
        """For a model that takes images of this height and width, of which the recipe may say nothing."""
        recipe = self.recipe
        if recipe is None or recipe.crop is None or recipe.crop == size:
            return self
        theirs, own = ("x".join(map(str, sides)) for sides in (recipe.crop, size))
        note = (
            f"the recipe of {recipe.source} is for images of {theirs}, the model takes {own}: "
            "how they are resized and cropped is not in the card"
        )
        return Choice(recipe.without_sizes(), f"{self.note}; {note}" if self.note else note)


def choose_recipe(
    asked: str | None,
    found: FoundModel,
    num_classes: int | None,
    weights: Path | None,
    input_shape: tuple[int, ...] | None,
) -> Choice:
    """asked: of --recipe; num_classes, input_shape: where they were asked for. Raises UsageError for unknown weights."""
    if asked == NONE:
        return Choice(None)
    published = [] if found.is_own else _published(found, input_shape)
    if asked is not None:
        return Choice(recipe_of_tag(asked, found.name, published))
    if not published:
        return Choice(None)
    if exact := [one for one in published if found.name == one.recipe.source]:
        return Choice(exact[0].recipe)
    if weights is not None and (choice := _by_file(weights, published)):
        return choice
    return _of_all(found, published, num_classes or getattr(found.module, "num_classes", 1000))


def recipe_of_tag(asked: str, model: str, published: list[Published]) -> Recipe:
    """By the tag alone, of the model's `published` weights, or by the full name of any. Raises UsageError for others."""
    if of_tag := [one for one in published if one.tag == asked]:
        return of_tag[0].recipe
    try:
        return library_recipe(asked)
    except UsageError as error:
        if not published:
            raise
        raise UsageError(f"--recipe: {model} has no weights '{asked}'; it has {_listed(published)}") from error


def _by_file(weights: Path, published: list[Published]) -> Choice | None:
    """Libraries put the beginning of the sha256 into the names of their files."""
    hashes = {found[1]: one for one in published if (found := _HASH_IN_NAME.search(one.file))}
    if hashes and (digest := digest_of(weights)):
        if of_hash := [one for start, one in hashes.items() if digest.startswith(start)]:
            return Choice(of_hash[0].recipe)
    folders = {part.removeprefix(_HUB_FOLDER) for part in weights.resolve().parts + weights.absolute().parts}
    for one in published:
        if weights.name == one.file or one.recipe.source.removeprefix("timm:") in folders:
            note = f"'{weights}' is taken for {one.recipe.source} by its name; --recipe TAG|none says otherwise"
            return Choice(one.recipe, note)
    return None


def _of_all(found: FoundModel, published: list[Published], num_classes: int) -> Choice:
    """What all weights for as many classes share: these may be any of them, or be made from one."""
    library, _, name = found.name.partition(":")
    fitting = [one for one in published if one.num_classes == num_classes]
    if not fitting:
        note = (
            f"how the images are to be prepared is not known: {library} has no weights of {name} for {num_classes} "
            f"classes; --recipe TAG says it ({_listed(published)})"
        )
        return Choice(None, note)
    recipes = [one.recipe for one in fitting]
    recipe = shared_part(found.name, recipes) if len(recipes) > 1 else recipes[0]
    words = f"images are taken to be prepared as for {library}'s weights of {name} ({_listed(fitting)})"
    if others := differing(recipes):
        words += f" as far as these agree: they differ in {', '.join(others)}"
    return Choice(recipe if recipe.known else None, f"{words}; --recipe TAG|none says otherwise")


def _listed(published: list[Published]) -> str:
    more = f", … and {len(published) - _SHOWN} more" if len(published) > _SHOWN else ""
    return ", ".join(one.tag for one in published[:_SHOWN]) + more


def _published(found: FoundModel, input_shape: tuple[int, ...] | None) -> list[Published]:
    library, _, model = found.name.partition(":")
    name = model if library == "torchvision" else found.module.pretrained_cfg["architecture"]
    return published_weights(library, name, input_shape)


def published_weights(library: str, model: str, input_shape: tuple[int, ...] | None = None) -> list[Published]:
    """model: a name of torchvision's, or an architecture of timm's, for images of this [C, H, W]."""
    return _of_torchvision(model) if library == "torchvision" else _of_timm(model, input_shape)


def _of_torchvision(model: str) -> list[Published]:
    import torchvision

    enum = torchvision.models.get_model_weights(model)
    return [
        Published(one.name, len(one.meta["categories"] or ()), one.url.rpartition("/")[2], of_torchvision(one))
        for one in enum
    ]


def _of_timm(architecture: str, input_shape: tuple[int, ...] | None) -> list[Published]:
    from timm.models import get_arch_pretrained_cfgs

    configs = get_arch_pretrained_cfgs(architecture)
    # An architecture may also have a form of which no weights were published.
    with_weights = {name: config for name, config in configs.items() if config.has_weights} or configs
    return [
        Published(
            name.partition(".")[2] or name,
            config.num_classes,
            config.url.rpartition("/")[2] if isinstance(config.url, str) else "",
            of_timm(name, config.to_dict(), input_shape),
        )
        for name, config in with_weights.items()
    ]
