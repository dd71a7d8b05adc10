"""Prompts of a benchmark and their identity."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt."""

    text: str = ""
    """What is sent; empty where token ids are."""
    token_ids: tuple[int, ...] | None = None
    """Token ids that are sent instead of a text, for a server that has no tokenizer."""
    category: str | None = None
    """Category, for results per category."""

    @property
    def key(self) -> str:
        """Return the SHA-256 of the text, or of the token ids: equal keys are equal prompts."""
        if self.token_ids is not None:
            return hashlib.sha256(f"token ids {self.token_ids}".encode()).hexdigest()
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet:
    """Prompts in the order in which they are sent."""

    name: str
    """Name of the set."""
    prompts: tuple[Prompt, ...]
    """The prompts, categories taking turns, so that any first part of them holds all categories alike."""

    @property
    def digest(self) -> str:
        """Return the SHA-256 over the sorted keys: equal digests are equal sets."""
        return hashlib.sha256("\n".join(sorted({item.key for item in self.prompts})).encode()).hexdigest()

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the categories, sorted."""
        return tuple(sorted({item.category for item in self.prompts if item.category is not None}))

    def requests(self, count: int) -> tuple[Prompt, ...]:
        """Return the first `count` prompts; where there are fewer, they are sent again in the same order."""
        repeats = -(-count // len(self.prompts))
        return (self.prompts * repeats)[:count]


def in_turns(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """Return the prompts with categories taking turns, the order within a category kept; doubles are left out."""
    groups: dict[str | None, list[Prompt]] = defaultdict(list)
    seen: set[str] = set()
    for prompt in prompts:
        if prompt.key not in seen:
            seen.add(prompt.key)
            groups[prompt.category].append(prompt)
    rounds = zip_longest(*groups.values())
    return tuple(prompt for turn in rounds for prompt in turn if prompt is not None)
