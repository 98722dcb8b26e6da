# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's transformers models, from files of this machine only."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tally_data.errors import ModelError
from tally_data.transformers_library import first_line, import_transformers

from .card import Description
from .class_names import ClassNames, of_transformers
from .hugging_face_images import adapt_to_images, takes_images
from .sequences import SequenceForm

PREFIX = "hf:"
CHOICES = "ForMultipleChoice"  # ends the names of classes that are given all choices of a question at once
# In the order in which transformers looks for them.
WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


@dataclass(frozen=True)
class HuggingFaceModel:
    """module: its forward takes what form says; weights: the file or the index."""

    module: nn.Module
    name: str
    form: SequenceForm | Description
    weights: Path | None
    note: str | None
    class_names: ClassNames | None


def find_hugging_face(
    path: Path, class_name: str | None, own_weights: bool, recipe: str | None = None
) -> HuggingFaceModel:
    """path: a folder with config.json, or that file; own_weights: load those of the folder, where it has some.

    recipe: of --recipe, for images. Raises ModelError where there is no such model, or it is none that scores texts
    or images.
    """
    folder = path.parent if path.is_file() else path
    config_file = path if path.is_file() else folder / "config.json"
    if not config_file.is_file():
        raise ModelError(f"'{config_file}' does not exist; hf: takes a folder with a config.json, or that file")
    transformers = import_transformers()
    try:
        config = transformers.AutoConfig.from_pretrained(
            config_file, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:
        raise ModelError(f"'{config_file}' describes no model: {first_line(error)}") from error
    base = _class(transformers, class_name or (getattr(config, "architectures", None) or [None])[0], config_file)
    _check_kind(config, base.__name__)
    weights = next((folder / name for name in WEIGHT_FILES if (folder / name).is_file()), None)
    weights = weights if own_weights and path.is_dir() else None
    config.use_cache = False  # a decoder would return its keys and values
    try:
        module, note = _load(base, config, weights) if weights else (base._from_config(config), None)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"'{path}' cannot be loaded as {base.__name__}: {first_line(error)}") from error
    module = module.eval()
    if takes_images(module):
        form: SequenceForm | Description = adapt_to_images(module, _scores_of(base), folder, recipe)
    else:
        form = _adapt(module)
    name = f"{PREFIX}{folder.resolve().name}:{base.__name__}"
    return HuggingFaceModel(module, name, form, weights, note, of_transformers(config, base.__name__))


def _class(transformers: Any, name: str | None, config_file: Path) -> Any:
    if name is None:
        raise ModelError(f"'{config_file}' names no class under 'architectures'; give --hf-class")
    found = getattr(transformers, name, None)
    if not (inspect.isclass(found) and issubclass(found, transformers.PreTrainedModel)):
        raise ModelError(f"transformers {transformers.__version__} has no model class '{name}'; see --hf-class")
    return found


def _check_kind(config: Any, class_name: str) -> None:
    """Raises ModelError for models that no task of tally scores."""
    if getattr(config, "is_encoder_decoder", False) and not class_name.endswith("ForCausalLM"):
        raise ModelError(
            f"encoder-decoder models are not supported, and {class_name} is one ({config.model_type}): export a model of "
            "an encoder or of a decoder alone, such as BERT's or GPT-2's"
        )


def _load(base: Any, config: Any, weights: Path) -> tuple[nn.Module, str | None]:
    """Every tensor of the model must be there; others, such as those of another head, are only noted."""
    module, found = base.from_pretrained(
        weights.parent, config=config, local_files_only=True, weights_only=True, output_loading_info=True
    )
    missing, left_over = sorted(found["missing_keys"]), sorted(found["unexpected_keys"])
    if missing:
        raise ModelError(
            f"weights '{weights}' lack {len(missing)} tensors of {base.__name__}, first '{missing[0]}'; "
            "see --hf-class and --weights"
        )
    note = f"weights '{weights}' have {len(left_over)} tensors that {base.__name__} has not" if left_over else None
    return module, note and f"{note}, first '{left_over[0]}'"


def _scores_of(base: type[nn.Module]) -> Callable[..., torch.Tensor | tuple[torch.Tensor, torch.Tensor]]:
    """A forward of the class that returns tensors in place of what transformers returns."""

    def scores(self: nn.Module, **inputs: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        found = base.forward(self, **inputs, return_dict=True)
        if "start_logits" in found and "end_logits" in found:
            return found["start_logits"], found["end_logits"]
        if "logits" in found:
            return found["logits"]
        raise ModelError(f"{base.__name__} returns {', '.join(found)}, expected logits; see --hf-class")

    return scores


def _adapt(module: nn.Module) -> SequenceForm:
    """Gives the module a forward of plain tensors; its own class stays below, and the names of its weights."""
    base, config = type(module), module.config
    scores = _scores_of(base)
    takes_types = (
        "token_type_ids" in inspect.signature(base.forward).parameters
        and (getattr(config, "type_vocab_size", None) or 0) > 1
    )

    def with_types(
        self: nn.Module, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> Any:
        return scores(
            self, input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        )

    def without_types(self: nn.Module, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        return scores(self, input_ids=input_ids, attention_mask=attention_mask)

    forward = with_types if takes_types else without_types
    module.__class__ = type(base.__name__, (base,), {"forward": forward, "__module__": base.__module__})
    names = tuple(inspect.signature(forward).parameters)[1:]
    pad = getattr(config, "pad_token_id", None) or 0
    has_choices = base.__name__.endswith(CHOICES)
    return SequenceForm(names, config.get_text_config().vocab_size, pad, _longest(module), has_choices)


def _longest(module: nn.Module) -> int | None:
    """Tokens of a row that the model has positions for."""
    positions = getattr(module.config, "max_position_embeddings", None) or 0
    for name, part in module.named_modules():
        if name.endswith("position_embeddings") and isinstance(part, nn.Embedding) and part.padding_idx is not None:
            return part.num_embeddings - part.padding_idx - 1  # RoBERTa counts from behind the padding
    return positions if positions > 0 else None
