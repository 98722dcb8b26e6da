"""Does an exported model give what the module gives?"""

from collections.abc import Callable

import torch

from tally_data.encoding import ImageEncoding
from tally_data.errors import ModelError

Batch = tuple[torch.Tensor, ...]  # the arguments of forward; each [batch, ...]
Outputs = tuple[torch.Tensor, ...]  # each [batch, ...]
Forward = Callable[..., torch.Tensor | Outputs]

# Largest difference allowed, as a part of the largest output: kernels may be fused or chosen otherwise.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}


def random_batch(
    size: int, shape: tuple[int, ...], dtype: torch.dtype, encoding: ImageEncoding | None
) -> torch.Tensor:
    """[size, *shape]: normalised noise pixels where the normalisation is known, else standard normal."""
    generator = torch.Generator().manual_seed(size)
    if encoding is None:
        return torch.randn((size, *shape), generator=generator).to(dtype)
    pixels = torch.randint(0, 256, (size, *shape), generator=generator).float()
    mean, std = (torch.tensor(values)[:, None, None] for values in (encoding.mean, encoding.std))
    return ((pixels * encoding.scale - mean) / std).to(dtype)


def run_module(module: Forward, batch: Batch) -> Outputs:
    """What the module returns, a tensor as a tuple of one; finite. Raises ModelError for anything else."""
    shape = list(batch[0].shape)
    try:
        with torch.inference_mode():
            returned = module(*batch)
    except ModelError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines() or [""]
        raise ModelError(f"the model fails on a batch {shape}: {type(error).__name__}: {reason[-1]}") from error
    outputs = (returned,) if isinstance(returned, torch.Tensor) else returned
    if not isinstance(outputs, tuple) or not all(isinstance(output, torch.Tensor) for output in outputs):
        raise ModelError(
            f"the model returns a {type(returned).__name__}, expected tensors; wrap it in a module of yours"
        )
    for output in outputs:
        if output.ndim == 0 or len(output) != shape[0]:
            raise ModelError(f"the model returns the shape {list(output.shape)} for {shape[0]} samples")
        if not output.isfinite().all():
            raise ModelError(f"the model returns NaN or Inf for a random batch {shape}")
    return outputs


def one_row_each(outputs: Outputs) -> torch.Tensor:
    """Scores [batch, num_classes] or [batch]. Raises ModelError for anything else."""
    if len(outputs) != 1:
        raise ModelError(
            f"the model returns a tuple of {len(outputs)}, expected one tensor; wrap it in a module of yours"
        )
    if outputs[0].ndim > 2:
        raise ModelError(
            f"the model returns the shape {list(outputs[0].shape)} for {len(outputs[0])} samples, "
            "expected [batch, classes] or [batch]"
        )
    return outputs[0]


def check_kind(output: torch.Tensor, kind: str) -> str | None:
    """Raises ModelError if the scores are not of the kind; a sentence of warning if they look like another.

    Rows of class scores sum to 1; those of labels that are judged one by one need not.
    """
    scores = output.double().reshape(len(output), -1)
    tolerance = 1e-3 if output.dtype == torch.float32 else 5e-2
    in_range = {
        "probabilities": bool(((scores >= 0) & (scores <= 1 + tolerance)).all()),
        "log-probabilities": bool((scores <= tolerance).all()),
    }
    is_probability = in_range["probabilities"] and bool(((scores.sum(1) - 1).abs() < tolerance).all())
    is_log_probability = bool((scores.logsumexp(1).abs() < tolerance).all())
    if not in_range.get(kind, True):
        bounds = "between 0 and 1" if kind == "probabilities" else "at most 0"
        raise ModelError(f"the model does not return {kind}: they would be {bounds}; see --outputs")
    if scores.shape[1] > 1 and (
        (kind == "probabilities" and not is_probability)
        or (kind == "log-probabilities" and not is_log_probability)
    ):
        return f"the {kind} of a row do not sum to 1: they fit the task multilabel only"
    is_log_probability = is_log_probability and scores.shape[1] > 1
    if kind == "logits" and (in_range["probabilities"] or is_log_probability):
        looks = "probabilities" if in_range["probabilities"] else "log-probabilities"
        return f"the outputs look like {looks}, exported as logits; perhaps --outputs {looks} is meant"
    return None


def _same(found: torch.Tensor, expected: torch.Tensor) -> bool:
    largest = expected.double().abs().max().clamp_min(1e-6)
    difference = (found.double() - expected.double()).abs().max()
    return found.dtype == expected.dtype and bool(difference <= TOLERANCE[expected.dtype] * largest)


def _differs(found: Outputs, expected: Outputs) -> bool:
    return len(found) != len(expected) or not all(
        one.shape == other.shape and _same(one, other) for one, other in zip(found, expected, strict=True)
    )


def reproduces(exported: Forward, module: Forward, batches: list[Batch]) -> str | None:
    """None, or what differs."""
    for batch in batches:
        expected = run_module(module, batch)
        try:
            found = run_module(exported, batch)
        except ModelError as error:
            return str(error)
        if _differs(found, expected):
            return f"it gives other results than the model on a batch {list(batch[0].shape)}"
    return None
