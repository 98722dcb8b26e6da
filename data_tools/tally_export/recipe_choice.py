# SPDX-License-Identifier: Apache-2.0
"""Which recipe the card of a model has: of the weights that --recipe, their name or their file says, or of all of them."""

from dataclasses import dataclass, replace
from pathlib import Path

from tally_data.encoding import ImageEncoding
from tally_data.errors import UsageError

from .constructor import FoundModel
from .pretrained import HASH_IN_NAME
from .published import Published, listed, published_weights
from .recipe import Recipe, differing, library_recipe, shared_part
from .weights import digest_of

NONE = "none"
RECIPE_HELP = (
    "of which weights the card says how images are prepared: IMAGENET1K_V1, augreg_in21k_ft_in1k, a full name such as "
    "timm:resnet18.a1_in1k, or none; default: what the library's weights of that model share"
)
_HUB_FOLDER = "models--timm--"  # in the cache of Hugging Face's hub


@dataclass(frozen=True)
class Choice:
    """note: what the user should know of how it was chosen; weights: those that are loaded, where they are the library's."""

    recipe: Recipe | None
    note: str | None = None
    weights: Published | None = None

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
        return self._changed(recipe.without_sizes(), note)

    def for_channels(self, channels: int) -> "Choice":
        """For a model that takes images of so many channels: of one, timm averages the recipe's mean and deviation."""
        recipe = self.recipe
        if recipe is None or recipe.encoding is None or recipe.encoding.num_channels == channels:
            return self
        encoding = recipe.encoding
        what = f"the recipe of {recipe.source} is for images of {encoding.num_channels} channels"
        if channels != 1:
            note = f"{what}, the model takes {channels}: how they are normalised is not in the card"
            return self._changed(replace(recipe, encoding=None), note)
        mean, std = ((sum(values) / len(values),) for values in (encoding.mean, encoding.std))
        grey = ImageEncoding("L", encoding.scale, mean, std)
        note = f"{what}: the card has their average, as timm takes it for grey images"
        return self._changed(replace(recipe, encoding=grey), note)

    def _changed(self, recipe: Recipe, note: str) -> "Choice":
        return replace(self, recipe=recipe, note=f"{self.note}; {note}" if self.note else note)


def choose_recipe(
    asked: str | None,
    found: FoundModel,
    num_classes: int | None,
    weights: Path | None,
    size: tuple[int, ...] | None,
) -> Choice:
    """asked: of --recipe; num_classes, size: where they were asked for. Raises UsageError for unknown weights."""
    published = [] if found.is_own else _published(found, size)
    certain = _certain(found, weights, published)
    if asked is not None:
        return Choice(None if asked == NONE else recipe_of_tag(asked, found.name, published), weights=certain)
    if not published:
        return Choice(None)
    named = _of_name(weights, published) if weights else None
    if whose := next((one for one in published if one.name == found.name), certain):
        return Choice(whose.recipe, weights=named if named is whose else certain)
    if named:
        note = f"'{weights}' is taken for {named.name} by its name; --recipe TAG|none says otherwise"
        return Choice(named.recipe, note, named)
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
        raise UsageError(f"--recipe: {model} has no weights '{asked}'; it has {listed(published)}") from error


def _certain(found: FoundModel, weights: Path | None, published: list[Published]) -> Published | None:
    """Those of --pretrained, or the library's file: libraries put the beginning of the sha256 into the names of theirs."""
    if found.pretrained:
        return next(one for one in published if one.name == found.pretrained.published.name)
    hashes = {said[1]: one for one in published if (said := HASH_IN_NAME.search(one.file))}
    digest = digest_of(weights) if weights and hashes else None
    return next((one for start, one in hashes.items() if digest and digest.startswith(start)), None)


def _of_name(weights: Path, published: list[Published]) -> Published | None:
    folders = {part.removeprefix(_HUB_FOLDER) for part in weights.resolve().parts + weights.absolute().parts}
    return next((one for one in published if weights.name == one.file or one.full_name in folders), None)


def _of_all(found: FoundModel, published: list[Published], num_classes: int) -> Choice:
    """What all weights for as many classes share: these may be any of them, or be made from one."""
    library, _, name = found.name.partition(":")
    fitting = [one for one in published if one.num_classes == num_classes]
    if not fitting:
        note = (
            f"how the images are to be prepared is not known: {library} has no weights of {name} for {num_classes} "
            f"classes; --recipe TAG says it ({listed(published)})"
        )
        return Choice(None, note)
    recipes = [one.recipe for one in fitting]
    recipe = shared_part(found.name, recipes) if len(recipes) > 1 else recipes[0]
    words = f"images are taken to be prepared as for {library}'s weights of {name} ({listed(fitting)})"
    if others := differing(recipes):
        words += f" as far as these agree: they differ in {', '.join(others)}"
    return Choice(recipe if recipe.known else None, f"{words}; --recipe TAG|none says otherwise")


def _published(found: FoundModel, size: tuple[int, ...] | None) -> list[Published]:
    library, _, model = found.name.partition(":")
    name = model if library == "torchvision" else found.module.pretrained_cfg["architecture"]
    return published_weights(library, name, size)
