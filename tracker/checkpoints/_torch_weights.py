"""All weights of PyTorch archives read once through torch, which runs nothing (`weights_only=True`)."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.checkpoints._torch_files import state_tensors
from tracker.checkpoints._weights import UNTRAINED_ENDINGS, Seen, norms_look_untrained, sampled_rows
from tracker.errors import CheckpointError

if TYPE_CHECKING:
    import torch

_CHUNK_VALUES = 8 * 2**20


def look_at_archives(paths: Sequence[Path], progress: Callable[[int, int], None] | None) -> Seen:
    """Return what reading every floating-point tensor of the files shows; files are mapped, not loaded.

    Raises:
        CheckpointError: torch is not installed, or refuses a file.
    """
    try:
        import torch
    except ImportError as error:
        raise CheckpointError(
            "the weights of a PyTorch archive can only be looked at with torch, which is not installed",
            where=str(paths[0]),
            hint="Install it (`pip install 'tracker[torch]'`), or convert the checkpoint to safetensors.",
        ) from error
    total = sum(path.stat().st_size for path in paths)
    done = 0
    not_finite, zero, untrained = [], [], []
    for path in paths:
        for name, tensor in _tensors(torch, path).items():
            if not tensor.is_floating_point() or tensor.numel() == 0:
                continue
            _refuse_expanded(tensor, name, path)
            finite, nonzero = _scan(torch, tensor)
            if not finite:
                not_finite.append(name)
            elif not nonzero and tensor.ndim > 1:
                zero.append(name)
            elif name.endswith(UNTRAINED_ENDINGS) and _looks_untrained(torch, tensor):
                untrained.append(name)
        done += path.stat().st_size
        if progress is not None:
            progress(done, total)
    return Seen(not_finite=tuple(sorted(not_finite)), zero=tuple(sorted(zero)), untrained=tuple(sorted(untrained)))


def _tensors(torch: Any, path: Path) -> Mapping[str, torch.Tensor]:
    """Return the tensors of one file by name.

    Raises:
        CheckpointError: torch refuses it.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, OSError) as error:
        raise CheckpointError(
            f"torch refuses the file with weights_only=True ({str(error).splitlines()[0][:120]})",
            where=str(path),
            hint="Convert it to safetensors on a machine you trust with it: `safetensors.torch.save_file(...)`.",
        ) from error
    return state_tensors(content, torch.Tensor)


def _refuse_expanded(tensor: torch.Tensor, name: str, path: Path) -> None:
    """Refuse a tensor that repeats its storage: laid out in memory, a file of a kilobyte would take terabytes."""
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise CheckpointError(
            f"holds tensor {name!r} of {tensor.numel()} values in fewer bytes than they take",
            where=str(path),
            hint="Save it with `.contiguous()`.",
        )


def _scan(torch: Any, tensor: torch.Tensor) -> tuple[bool, bool]:
    """Return whether all values are finite, and whether any is not zero; in pieces, so that memory stays bounded."""
    finite, nonzero = True, False
    rows = tensor.reshape(-1) if tensor.is_contiguous() else tensor.contiguous().reshape(-1)
    for start in range(0, rows.numel(), _CHUNK_VALUES):
        piece = rows[start : start + _CHUNK_VALUES].to(torch.float32)
        finite = finite and bool(torch.isfinite(piece).all())
        nonzero = nonzero or bool(piece.any())
        if not finite:
            break
    return finite, nonzero


def _looks_untrained(torch: Any, tensor: torch.Tensor) -> bool:
    if tensor.ndim != 2:
        return False
    picked = sampled_rows(tensor.shape[0])
    norms = torch.linalg.vector_norm(tensor[torch.as_tensor(picked)].to(torch.float32), dim=1)
    return norms_look_untrained(norms.double().numpy(), tensor.shape[1])
