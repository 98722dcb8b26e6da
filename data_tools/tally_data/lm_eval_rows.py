# SPDX-License-Identifier: Apache-2.0
"""Rows of tokens as lm-evaluation-harness gives them to a causal model of Hugging Face's, by its own code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError, UsageError
from .lm_eval_tasks import quiet_harness
from .sliding_windows import empty_row
from .token_rows import IGNORED, TokenRow


class HarnessEncoder:
    """folder: of the model's tokenizer; length: tokens that the model sees (max_length)."""

    def __init__(self, folder: Path, length: int) -> None:
        self._length = length
        if not folder.is_dir():
            raise DataError(f"'{folder}' is no folder of a tokenizer")
        with quiet_harness(f"use the tokenizer in '{folder}'"):
            from transformers import AutoTokenizer

            words = {"use_fast": True, "trust_remote_code": False, "local_files_only": True}
            tokenizer = AutoTokenizer.from_pretrained(str(folder), **words)
            if tokenizer.bos_token_id is None and tokenizer.eos_token_id is None:
                raise DataError(f"the tokenizer in '{folder}' has neither a bos_token nor an eos_token; the harness needs one")
            self._recorder = _recorder_class()(tokenizer, length)
        self.num_tokens = 1 + max(tokenizer.get_vocab().values())

    def rows(self, requests: Sequence[Any], place: str) -> list[TokenRow]:
        """Of contexts with continuations, a row each."""
        with quiet_harness(f"encode {place}"):
            pairs = self._recorder.recorded(self._recorder.loglikelihood, requests)
        return [self._row(*pair, f"choice {number} of {place}") for number, pair in enumerate(pairs)]

    def windows(self, request: Any, place: str) -> list[TokenRow]:
        """Of one text, at least one: that of a text without tokens has none to score."""
        with quiet_harness(f"encode {place}"):
            pairs = self._recorder.recorded(self._recorder.loglikelihood_rolling, [request])
        if not pairs:
            return [empty_row(np.empty(0, np.int32), self._recorder.prefix_token_id)]
        return [self._row(*pair, place) for pair in pairs]

    def _row(self, context: list[int], continuation: list[int], place: str) -> TokenRow:
        """As HFLM._loglikelihood_tokens makes the input of the model."""
        if not context or not continuation:
            which = "context" if not context else "continuation"
            raise DataError(f"the {which} of {place} has no token of its own, which the harness does not take")
        if len(continuation) > self._length:
            raise UsageError(f"{place} is {len(continuation)} tokens long, more than --max-length {self._length}")
        seen = np.array((context + continuation)[-(self._length + 1) :], np.int32)
        labels = seen[1:].copy()
        labels[: -len(continuation)] = IGNORED
        return TokenRow(seen[:-1], labels)


def _recorder_class() -> type[Any]:
    from lm_eval.models.huggingface import HFLM

    class RequestRecorder(HFLM):
        """The harness's own class, which encodes and cuts texts, with a notebook in the place of the model."""

        def __init__(self, tokenizer: Any, length: int) -> None:
            super(HFLM, self).__init__()  # HFLM's would load a model
            self.tokenizer = tokenizer
            self.backend = "causal"
            self.add_bos_token = self.custom_prefix_token_id = self.enable_thinking = None
            self.batch_size_per_gpu = 1
            self._max_length = length
            self._pairs: list[tuple[list[int], list[int]]] = []

        def recorded(self, function: Any, requests: Sequence[Any]) -> list[tuple[list[int], list[int]]]:
            """Contexts and continuations of `requests`, in order, as `function` would score them."""
            self._pairs = []
            function(list(requests), disable_tqdm=True)
            return self._pairs

        def _loglikelihood_tokens(self, requests: Any, **_options: Any) -> list[tuple[float, bool]]:
            self._pairs += [(list(context), list(continuation)) for _, context, continuation in requests]
            return [(0.0, False)] * len(requests)

    return RequestRecorder
