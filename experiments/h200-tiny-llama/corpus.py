"""Text for the laboratory: Python source found on the machine, split into training text and held-out prompts."""

from __future__ import annotations

import hashlib
import json
import random
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

# Categories of the prompts: packages whose source differs in style. Further ones only add training text.
CATEGORIES = ("stdlib", "torch", "transformers", "jax", "scipy", "sympy", "pandas", "matplotlib")
MORE_TEXT = ("numpy", "sklearn", "networkx", "statsmodels", "numba", "botorch", "optax", "flax", "onnx")
PROMPTS_PER_CATEGORY = 24
PROMPT_CHARACTERS = 240
_FILE_BYTES = range(2_000, 200_000)
_HELD_OUT_MIN_CHARACTERS = 3_000
_TOKENIZER_EVERY = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Texts, each file once."""

    texts: tuple[str, ...]
    """Training texts, shuffled."""
    prompts: tuple[tuple[str, str], ...]
    """(category, prompt) from files that are in no training text."""


def collect(*, max_files: int) -> Corpus:
    """Return the corpus of this machine; the same machine gives the same one."""
    files = [(category, path) for category, root in _roots() for path in sorted(root.rglob("*.py"))]
    files = [(category, path) for category, path in files if path.is_file() and path.stat().st_size in _FILE_BYTES]
    random.Random(0).shuffle(files)  # noqa: S311 - an order, not a secret
    seen: set[str] = set()
    texts: list[str] = []
    held: dict[str, list[str]] = {category: [] for category in CATEGORIES}
    for category, path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest in seen:
            continue
        seen.add(digest)
        wanted = len(held.get(category, ())) < PROMPTS_PER_CATEGORY and category in held
        if wanted and len(text) > _HELD_OUT_MIN_CHARACTERS:
            held[category].append(text)
        elif len(texts) < max_files:
            texts.append(text)
    prompts = tuple((category, _prompt(text)) for category in CATEGORIES for text in held[category])
    return Corpus(texts=tuple(texts), prompts=prompts)


def train_tokenizer(texts: tuple[str, ...], *, vocab_size: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer trained on a part of the texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts[::_TOKENIZER_EVERY], trainer)
    return tokenizer


def write_prompts(path: Path, corpus: Corpus) -> None:
    """Write the held-out prompts as JSON Lines."""
    lines = (json.dumps({"category": category, "prompt": prompt}) for category, prompt in corpus.prompts)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _roots() -> list[tuple[str, Path]]:
    paths = sysconfig.get_paths()
    packages = Path(paths["purelib"])
    roots = [("stdlib", Path(paths["stdlib"]))]
    roots += [(name, packages / name) for name in (*CATEGORIES[1:], *MORE_TEXT)]
    return [(name, root) for name, root in roots if root.is_dir()]


def _prompt(text: str) -> str:
    start = len(text) // 3
    return text[start : start + PROMPT_CHARACTERS]
