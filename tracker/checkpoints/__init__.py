"""Checkpoints described from their files: config.json and the headers of the weight files, never the weights."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tracker.checkpoints._config import architecture, aux_layers, find, further_facts, read_config, whole
from tracker.checkpoints._draft_map import draft_map_problem
from tracker.checkpoints._embeddings import same_embeddings
from tracker.checkpoints._hub import HUB_ID, Located, default_cache, find_cached, name_of, not_found
from tracker.checkpoints._kind import detect, fc_width, has_draft_map, mtp_tensors
from tracker.checkpoints._safetensors import read_folder
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.redaction import mask_path
from tracker.errors import CheckpointError, InputError

__all__ = ["cached_folder", "compare_embeddings", "describe", "from_facts", "inspect_weights", "locate"]

_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")
# Tensors whose presence or shape a check looks at, by the end of their name.
_KEY_ENDINGS = (
    "fc.weight", "fc.bias", "d2t", "t2d", "lm_head.weight", "embed_tokens.weight", "eh_proj.weight", "enorm.weight",
    "hnorm.weight", "hidden_norm.weight", "input_norm.weight", "fc_norm.weight", "midlayer.self_attn.q_proj.weight",
    "shared_head.head.weight", "verifier_norm.weight", "midlayer.hidden_norm.weight", "norm.weight",
)  # fmt: skip


class Layout(Protocol):
    """What every file format says of a tensor."""

    @property
    def dtype(self) -> str:
        """Element type."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape."""
        ...


def describe(path_or_id: str | Path, *, cache_dir: Path | None = None) -> Checkpoint:
    """Return what the files of a checkpoint say: identity, kind and facts.

    Args:
        path_or_id: Folder with config.json (or one of its files), or a Hub id (`owner/name`, `owner/name@revision`),
            which is looked up in the local cache. Nothing is downloaded.
        cache_dir: The Hugging Face cache; None is its usual place.

    Raises:
        CheckpointError: Nothing is there, or what is there is damaged.
    """
    located = locate(path_or_id, cache_dir=cache_dir)
    read = read_config(located.folder)
    config, body = read if read is not None else ({}, b"")
    tensors = read_folder(located.folder)
    layout: Mapping[str, Layout] = tensors or _read_archives(located.folder)
    sizes = _sizes(located.folder)
    if read is None and not layout:
        raise CheckpointError(
            "holds neither config.json nor safetensors files",
            where=str(path_or_id),
            hint="Give the folder of the exported checkpoint, not of the training state.",
        )
    header = "safetensors header" if tensors else "pytorch archive"
    sources = [*(["config.json"] if read is not None else []), *([header] if layout else [])]
    described = dataclasses.replace(_facts(config, layout), draft_map_problem=draft_map_problem(config, tensors))
    return dataclasses.replace(
        described,
        name=located.name,
        path=mask_path(str(path_or_id)),
        revision=located.revision,
        config_digest=hashlib.sha256(body).hexdigest() if read is not None else None,
        header_digest=_header_digest(layout) if layout else None,
        file_sizes_bytes=sizes,
        sources=tuple(sources),
    )


def from_facts(name: str, facts: Mapping[str, Any]) -> Checkpoint:
    """Return a checkpoint from facts written down by hand, under the names of config.json or of Checkpoint.

    Raises:
        InputError: A key that a checkpoint does not have, or a value of the wrong kind.
    """
    fields = {field.name for field in dataclasses.fields(Checkpoint)}
    own = {key: _frozen(value) for key, value in facts.items() if key in fields and key not in ("config", "name")}
    config = {key: value for key, value in facts.items() if key not in fields}
    unknown = sorted(set(config) - _CONFIG_KEYS)
    if unknown:
        raise InputError(
            f"a checkpoint has no fact {unknown[0]!r}",
            where=f"facts of {name}",
            hint=f"Known: {', '.join(sorted((fields | _CONFIG_KEYS) - {'name', 'config', 'sources'}))}.",
        )
    full = {**{key: value for key, value in facts.items() if key in _CONFIG_FIELDS}, **config}
    shapes: dict[str, tuple[int, ...]] = {"d2t": (0,)} if own.get("has_draft_vocab_map") else {}
    width, hidden = own.get("fc_input_width"), own.get("hidden_size")
    if isinstance(width, int) and isinstance(hidden, int):
        shapes["fc.weight"] = (hidden, width)
    verdict = detect(full, shapes)
    base = _facts(full, {})
    declared = dataclasses.replace(base, kind=verdict.kind, kind_evidence=verdict.evidence)
    return dataclasses.replace(declared, **{"name": name, "sources": ("declared",), **own})


def compare_embeddings(
    drafter: Checkpoint, drafter_path: str | Path, target_path: str | Path, *, cache_dir: Path | None = None
) -> Checkpoint:
    """Return the drafter with the answer to whether its embeddings are the target's; a few rows of both are read.

    Raises:
        CheckpointError: One of the two cannot be read.
    """
    own, other = (read_folder(locate(path, cache_dir=cache_dir).folder) for path in (drafter_path, target_path))
    return dataclasses.replace(drafter, embeddings_match_target=same_embeddings(own, other))


def inspect_weights(
    checkpoint: Checkpoint,
    path_or_id: str | Path,
    *,
    cache_dir: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Checkpoint:
    """Return the checkpoint with what reading all its weights shows: NaN, zeros, matrices that were never trained.

    Memory stays bounded (32 MB at a time) whatever the size. Safetensors files are read without torch; PyTorch archives
    through it, with `weights_only=True`.

    Args:
        checkpoint: As described.
        path_or_id: Where its files are.
        cache_dir: The Hugging Face cache; None is its usual place.
        progress: Called with bytes read and bytes in all.

    Raises:
        CheckpointError: The files cannot be read, or are PyTorch archives and torch is not installed.
    """
    from tracker.checkpoints._torch_files import archives
    from tracker.checkpoints._torch_weights import look_at_archives
    from tracker.checkpoints._weights import look_at_weights  # numpy costs 0.1 s, and only --deep needs it

    folder = locate(path_or_id, cache_dir=cache_dir).folder
    tensors = read_folder(folder)
    if not tensors and not archives(folder):
        raise CheckpointError(
            "holds no weights to look at", where=str(path_or_id), hint="Give the exported checkpoint."
        )
    seen = look_at_weights(tensors, progress) if tensors else look_at_archives(archives(folder), progress)
    return dataclasses.replace(
        checkpoint,
        not_finite_tensors=seen.not_finite,
        zero_tensors=seen.zero,
        untrained_tensors=seen.untrained,
    )


def locate(path_or_id: str | Path, *, cache_dir: Path | None = None) -> Located:
    """Return the folder of a checkpoint.

    Raises:
        CheckpointError: It is neither a folder nor in the cache.
    """
    text = str(path_or_id)
    path = Path(text).expanduser()
    try:
        if path.is_file():
            path = path.parent
        if path.is_dir():
            return name_of(path.resolve() if path.name in ("", ".", "..") else path)
    except OSError as error:
        raise CheckpointError(f"cannot be looked at ({error.strerror})", where=text, hint="Check the path.") from error
    cache = cache_dir or default_cache()
    found = find_cached(text, cache) if HUB_ID.fullmatch(text) else None
    if found is None:
        raise not_found(text, cache)
    return found


def cached_folder(hub_id: str, *, cache_dir: Path | None = None) -> Path | None:
    """Return the folder of a Hub id in the local cache; None when it is not there, or the text is no Hub id."""
    found = find_cached(hub_id, cache_dir or default_cache())
    return None if found is None else found.folder


_CONFIG_FIELDS = frozenset(
    {
        "hidden_size", "target_hidden_size", "num_hidden_layers", "vocab_size", "draft_vocab_size",
        "max_position_embeddings",
    }
)  # fmt: skip
_CONFIG_KEYS = frozenset({"architectures", "eagle_config", "eagle_aux_hidden_state_layer_ids", "tie_word_embeddings"})


def _facts(config: Mapping[str, Any], tensors: Mapping[str, Layout]) -> Checkpoint:
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    verdict = detect(config, shapes)
    return Checkpoint(
        name="",
        kind=verdict.kind,
        kind_evidence=verdict.evidence,
        architecture=architecture(config),
        hidden_size=whole(find(config, "hidden_size")),
        target_hidden_size=whole(find(config, "target_hidden_size")),
        num_hidden_layers=whole(find(config, "num_hidden_layers")),
        vocab_size=whole(find(config, "vocab_size")),
        draft_vocab_size=whole(find(config, "draft_vocab_size")),
        max_position_embeddings=whole(find(config, "max_position_embeddings")),
        fc_input_width=fc_width(shapes),
        aux_layer_ids=aux_layers(config)[0],
        has_draft_vocab_map=has_draft_map(shapes) if tensors else None,
        tensor_count=len(tensors) if tensors else None,
        key_tensors={name: shape for name, shape in sorted(shapes.items()) if _is_key(name)},
        config={**further_facts(config), **_mtp_facts(config, tensors, verdict.kind)},
    )


def _mtp_facts(config: Mapping[str, Any], tensors: Mapping[str, Layout], kind: str | None) -> dict[str, Any]:
    """Return the element types of the prediction layers, which show whether they were quantized with the rest."""
    names = list(tensors) if kind == "mtp" else mtp_tensors(config, tensors)
    found = sorted({tensors[name].dtype for name in names})
    return {"mtp_weight_dtypes": found} if found else {}


def _is_key(name: str) -> bool:
    """Return whether a tensor's shape is kept: the parts around the layers, not the layers of a large model."""
    if "layers." in name and not name.endswith(("eh_proj.weight", "enorm.weight", "hnorm.weight")):
        return False
    return any(name == ending or name.endswith("." + ending) for ending in _KEY_ENDINGS)


def _read_archives(folder: Path) -> Mapping[str, Layout]:
    """Return the tensors of PyTorch archives; their reader is imported only where there are any."""
    if not any(next(folder.glob(pattern), None) for pattern in ("*.bin", "*.pt", "*.pth")):
        return {}
    from tracker.checkpoints._torch_files import read_torch_folder

    return read_torch_folder(folder)


def _header_digest(tensors: Mapping[str, Layout]) -> str:
    """Return the SHA-256 over sorted lines of name, dtype and shape: equal however the tensors are sharded."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        shape = "x".join(str(size) for size in tensors[name].shape)
        digest.update(f"{name}\t{tensors[name].dtype}\t{shape}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sizes(folder: Path) -> dict[str, int]:
    paths = sorted(path for pattern in _WEIGHTS for path in folder.glob(pattern) if path.is_file())
    return {path.name: path.stat().st_size for path in paths}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
