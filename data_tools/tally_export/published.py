# SPDX-License-Identifier: Apache-2.0
"""The weights that torchvision and timm publish for their models: tags, names of files, recipes."""

from dataclasses import dataclass

from .recipe import Recipe, of_timm, of_torchvision

_SHOWN = 6  # tags in a message


@dataclass(frozen=True)
class Published:
    """One set of weights of a library. tag: as --recipe takes it; file: the name it is published under, or empty."""

    tag: str
    num_classes: int | None
    file: str
    recipe: Recipe

    @property
    def name(self) -> str:
        """Its full name: timm:resnet18.a1_in1k, torchvision:ResNet18_Weights.IMAGENET1K_V1."""
        return self.recipe.source

    @property
    def full_name(self) -> str:
        """As the library itself calls it, resnet18.a1_in1k."""
        return self.name.partition(":")[2]


def published_weights(library: str, model: str, size: tuple[int, ...] | None = None) -> list[Published]:
    """model: a name of torchvision's, or an architecture of timm's, for images of this height and width."""
    return _of_torchvision(model) if library == "torchvision" else _of_timm(model, size)


def listed(published: list[Published]) -> str:
    more = f", … and {len(published) - _SHOWN} more" if len(published) > _SHOWN else ""
    return ", ".join(one.tag for one in published[:_SHOWN]) + more


def _of_torchvision(model: str) -> list[Published]:
    import torchvision

    enum = torchvision.models.get_model_weights(model)
    return [
        Published(one.name, len(one.meta["categories"] or ()), one.url.rpartition("/")[2], of_torchvision(one))
        for one in enum
    ]


def _of_timm(architecture: str, size: tuple[int, ...] | None) -> list[Published]:
    from timm.models import get_arch_pretrained_cfgs

    configs = get_arch_pretrained_cfgs(architecture)
    # An architecture may also have a form of which no weights were published.
    with_weights = {name: config for name, config in configs.items() if config.has_weights} or configs
    return [
        Published(
            name.partition(".")[2] or name,
            config.num_classes,
            config.url.rpartition("/")[2] if isinstance(config.url, str) else "",
            of_timm(name, config.to_dict(), size),
        )
        for name, config in with_weights.items()
    ]
