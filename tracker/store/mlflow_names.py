"""Names that MLflow accepts, unique, with the originals kept.

MLflow takes letters, digits and `_ - . / : space` in keys of at most 250 characters and refuses `( ) % @ = , [ ]`
(measured on 3.17 and 3.18; older servers also refuse the colon, mlflow#12940). Logged models take no `/ : . % " '`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

MAX_KEY = 250
MAX_RUN_NAME = 250
MAX_PARAM = 6000
MAX_TAG = 8000
MAX_EXPERIMENT_TAG = 20_000
MAX_DATASET_NAME = 500
SPOKEN = {"%": "percent", "@": "_at_"}


class Names:
    """Hands out one safe key for each original name and remembers which name it stands for."""

    def __init__(self) -> None:
        """Start with no names taken."""
        self._taken: dict[str, str] = {}
        self._changed: dict[str, str] = {}

    def key(self, original: str) -> str:
        """Return the safe key of a name: the same for the same name, another for every other name."""
        key = safe_key(original)
        # Compared without case: MySQL's usual collation holds `TTFT` and `ttft` for one key.
        if self._taken.setdefault(key.casefold(), original) != original:
            key = f"{key[: MAX_KEY - 9]}-{_short_digest(original)}"
            self._taken[key.casefold()] = original
        if key != original:
            self._changed[key] = original
        return key

    @property
    def changed(self) -> Mapping[str, str]:
        """Original names by the key that stands for them, where the two differ."""
        return dict(self._changed)


@lru_cache(maxsize=4096)  # every run has the same few hundred names
def safe_key(original: str) -> str:
    """Return a key that MLflow takes and a person recognises: `TTFT (ms)` -> `TTFT_ms`, `accept@1` -> `accept_at_1`."""
    text = "".join(SPOKEN.get(character, character) for character in original)
    # Leading dots go as well: `..0` is taken for a way out of the folder.
    segments = (re.sub(r"[^\w.\-]+", "_", segment).strip("_").lstrip(".") for segment in text.split("/"))
    key = "/".join(segment for segment in segments if segment)
    if not key:
        return f"unnamed-{_short_digest(original)}"
    return key if len(key) <= MAX_KEY else f"{key[: MAX_KEY - 9]}-{_short_digest(original)}"


def model_slug(name: str) -> str:
    """Return a logged model's name: `/ : . % " '` and blanks become dashes."""
    slug = re.sub(r"[^\w\-]+", "-", name).strip("-")
    return slug[:MAX_KEY] or f"drafter-{_short_digest(name)}"


def storable(text: str) -> str:
    """Return text that every database holds: zero bytes (PostgreSQL) and invalid Unicode are written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def shortened(text: str, limit: int, *, where: str) -> str:
    """Return the text, or its beginning with a note of what is missing and where the whole is."""
    text = storable(text)
    if len(text) <= limit:
        return text
    note = f" ... ({len(text)} characters, whole in {where})"
    return text[: limit - len(note)] + note


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
