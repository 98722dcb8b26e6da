# SPDX-License-Identifier: Apache-2.0
"""The weights that torchvision and timm publish, in the libraries' own caches on this machine: nothing is fetched."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import torch

from tally_data.errors import ModelError, UsageError

from .published import Published, listed, published_weights
from .weights import digest_of

HASH_IN_NAME = re.compile(r"-([0-9a-f]{8,})\.")  # resnet18-f37072fd.pth: how its sha256 begins
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HUB_FILES = ("model.safetensors", "pytorch_model.bin")  # in the order in which timm looks for them


@dataclass(frozen=True)
class Pretrained:
    """published: whose weights; path: of the file in the cache; notes: what the user should know of it."""

    published: Published
    path: Path
    notes: tuple[str, ...] = ()


def find_torchvision_weights(model: str, tag: str) -> Pretrained:
    """tag: "" is the library's default. Raises UsageError for an unknown tag, ModelError where the file is not there."""
    import torchvision

    enum = torchvision.models.get_model_weights(model)
    found = _of_tag("torchvision", model, tag or enum.DEFAULT.name, published_weights("torchvision", model))
    code = f"import torchvision; torchvision.models.get_model('{model}', weights='{found.tag}')"
    path = _hub_checkpoint(enum[found.tag].url)
    if not path.is_file():
        raise _not_there(found, path.parent, code)
    if start := _hash_that_differs(path):  # torchvision compares them, too, but only when it fetches the file
        raise _damaged(path, start, code)
    return Pretrained(found, path)


def find_timm_weights(model: str, tag: str) -> Pretrained:
    """model: an architecture, or one with a tag. tag, errors: as above."""
    from timm.models import get_arch_pretrained_cfgs, get_pretrained_cfg

    architecture, _, own_tag = model.partition(".")
    if own_tag and tag not in ("", own_tag, model, f"timm:{model}"):
        raise UsageError(f"--model {model} and --pretrained {tag} name different weights")
    configs = {name: config for name, config in get_arch_pretrained_cfgs(architecture).items() if config.has_weights}
    if not configs:
        raise ModelError(f"timm has no weights of {architecture}; --weights takes a file of yours")
    default = get_pretrained_cfg(architecture).tag or architecture
    published = [one for one in published_weights("timm", architecture) if one.full_name in configs]
    found = _of_tag("timm", architecture, tag or own_tag or default, published)
    return _in_cache_of_timm(found, configs[found.full_name].to_dict())


def _in_cache_of_timm(found: Published, config: dict[str, Any]) -> Pretrained:
    from huggingface_hub import constants, try_to_load_from_cache
    from timm.models._builder import _resolve_pretrained_source  # timm's own choice between the two caches
    from timm.models._hub import hf_split

    code = f"import timm; timm.create_model('{found.full_name}', pretrained=True)"
    origin, place = _resolve_pretrained_source(config)
    if origin == "url":
        path = _hub_checkpoint(place)
        if not path.is_file():
            raise _not_there(found, path.parent, code)
        start = _hash_that_differs(path)
        note = f"the sha256 of '{path}' does not begin with {start}, as its name says; timm takes it all the same"
        return Pretrained(found, path, (note,) if start else ())
    repository, name = place if isinstance(place, tuple) else (place, None)
    repository, revision = hf_split(repository)
    for name in _HUB_FILES if name is None else (name,):
        path = try_to_load_from_cache(repository, name, revision=revision)
        if isinstance(path, str):
            break
    else:
        raise _not_there(found, Path(constants.HF_HUB_CACHE), code)
    stored = Path(path).resolve()  # a link to a file that is named by its hash
    if _SHA256.fullmatch(stored.name) and digest_of(stored) != stored.name:
        raise _damaged(stored, stored.name, code)
    return Pretrained(found, Path(path))


def _of_tag(library: str, model: str, tag: str, published: list[Published]) -> Published:
    for one in published:
        if tag in (one.tag, one.full_name, one.name):
            return one
    raise UsageError(f"--pretrained: {library}:{model} has no weights '{tag}'; it has {listed(published)}")


def _hub_checkpoint(url: str) -> Path:
    return Path(torch.hub.get_dir()) / "checkpoints" / Path(urlparse(url).path).name


def _hash_that_differs(path: Path) -> str | None:
    """The beginning of the sha256 that the file's name says, where the file has another."""
    said = HASH_IN_NAME.search(path.name)
    return said[1] if said and not (digest_of(path) or "").startswith(said[1]) else None


def _not_there(found: Published, folder: Path, code: str) -> ModelError:
    return ModelError(f"the weights {found.name} are not in '{folder}'; fetch them where there is a network: {_command(code)}")


def _damaged(path: Path, expected: str, code: str) -> ModelError:
    return ModelError(
        f"'{path}' is damaged: its sha256 does not begin with {expected}; remove it, and fetch it again where there is "
        f"a network: {_command(code)}"
    )


def _command(code: str) -> str:
    return f'"$TALLY_PYTHON" -c "{code}"'
