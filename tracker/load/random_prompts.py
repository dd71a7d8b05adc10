"""Random prompts of a stated length, for measuring time: what a server accepts on them means nothing."""

from __future__ import annotations

import random
from itertools import chain

from tracker.load.prompts import Prompt, PromptSet

# The names that SGLang's bench_serving gives the same two data sets.
RANDOM_TEXT = "random"
RANDOM_IDS = "random-ids"
# The first ids are control tokens in most vocabularies.
_FIRST_ID = 8


def random_ids(count: int, *, length: int, vocab_size: int, seed: int) -> PromptSet:
    """Return prompts of `length` uniformly random token ids below `vocab_size`, for a server without a tokenizer."""
    chosen = random.Random(seed)  # noqa: S311 - a sample, not a secret
    ids = range(min(_FIRST_ID, vocab_size - 1), vocab_size)
    prompts = (Prompt(token_ids=tuple(chosen.choices(ids, k=length))) for _ in range(count))
    return PromptSet(name=RANDOM_IDS, prompts=tuple(prompts))


def random_words(count: int, *, length: int, source: PromptSet, seed: int) -> PromptSet:
    """Return prompts of `length` words drawn from those of `source`; how many tokens they are, the server counts."""
    chosen = random.Random(seed)  # noqa: S311 - a sample, not a secret
    words = sorted(set(chain.from_iterable(prompt.text.split() for prompt in source.prompts)))
    prompts = (Prompt(text=" ".join(chosen.choices(words, k=length))) for _ in range(count))
    return PromptSet(name=RANDOM_TEXT, prompts=tuple(prompts))
