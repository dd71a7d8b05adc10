"""Names, types and shapes in PyTorch `.bin`/`.pt` files, read without torch, weights, or running anything.

Such a file is a zip archive with one pickle (`data.pkl`) that rebuilds tensors from storages. A pickle can call any
function; here it is followed by a reader of its own, which calls nothing and refuses what a state dict does not need
(the rule that `torch.load(weights_only=True)` follows).
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from tracker.checkpoints._files import size_of
from tracker.checkpoints._torch_pickle import ForbiddenNameError, PickledTensor, follow
from tracker.errors import CheckpointError

_T = TypeVar("_T")

MAX_PICKLE_BYTES = 32 * 1024 * 1024
# `checkpoint["state_dict"]["model"]["module"]` is as deep as trainers bury their weights.
_MAX_WRAPPERS = 3
_TRAINER_FILES = frozenset({"training_args.bin", "optimizer.pt", "scheduler.pt", "training_state.pt", "rng_state.pth"})
_CONVERT = "Convert it to safetensors on a machine you trust with it: `safetensors.torch.save_file(...)`."


def read_torch_folder(folder: Path) -> dict[str, PickledTensor]:
    """Return all tensors of the folder's `.bin` and `.pt` files by name.

    Raises:
        CheckpointError: A file wants to run code, is not a PyTorch archive, or is damaged.
    """
    tensors: dict[str, PickledTensor] = {}
    for path in archives(folder):
        tensors |= read_torch_file(path)
    return tensors


def archives(folder: Path) -> list[Path]:
    """Return the folder's files of weights in PyTorch's format, sorted; a trainer's own state is left out."""
    found = sorted([*folder.glob("*.bin"), *folder.glob("*.pt"), *folder.glob("*.pth")])
    return [path for path in found if path.name not in _TRAINER_FILES]


def read_torch_file(path: Path) -> dict[str, PickledTensor]:
    """Return the tensors of one file by name; nothing in it is run.

    Raises:
        CheckpointError: It wants to run code, is not a PyTorch archive, or is damaged.
    """
    content = _pickle_of(path)
    try:
        value = follow(content)
    except ForbiddenNameError as error:
        raise _refusal(path, str(error)) from error
    except ValueError as error:
        raise CheckpointError(f"holds a damaged pickle ({error})", where=str(path), hint=_CONVERT) from error
    found = state_tensors(value, PickledTensor)
    if not found:
        raise CheckpointError(
            "holds no tensors by name", where=str(path), hint="Is it a training state? Give the exported model."
        )
    return found


def _pickle_of(path: Path) -> bytes:
    size_of(path)
    try:
        with path.open("rb") as file, zipfile.ZipFile(cast("IO[bytes]", _Bounded(file, path))) as archive:
            named = [
                info
                for info in archive.infolist()
                if info.filename.endswith("/data.pkl") or info.filename == "data.pkl"
            ]
            if len(named) != 1:
                raise _refusal(path, "is a zip archive without one data.pkl, not a PyTorch file")
            if named[0].file_size > MAX_PICKLE_BYTES:
                raise _refusal(
                    path, f"holds a pickle of {named[0].file_size} bytes, above the limit of {MAX_PICKLE_BYTES}"
                )
            if named[0].compress_type != zipfile.ZIP_STORED:
                raise _refusal(path, "holds a compressed pickle, which PyTorch never writes")
            return archive.read(named[0])
    except zipfile.BadZipFile as error:
        raise CheckpointError(
            "is no PyTorch archive: the layout before PyTorch 1.6 must be unpickled, which could run code",
            where=str(path),
            hint=_CONVERT,
        ) from error
    except (OSError, NotImplementedError, RuntimeError) as error:
        raise CheckpointError(f"cannot be read ({error})", where=str(path), hint="Check the file.") from error


class _Bounded:
    """A file that refuses to be read in pieces larger than any pickle or list of contents: a zip may claim anything."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path = file, path

    def read(self, size: int = -1) -> bytes:
        """Return as many bytes as asked for, or the rest."""
        limit = MAX_PICKLE_BYTES + 1
        content = self._file.read(min(size, limit) if size >= 0 else limit)
        if len(content) == limit:
            raise _refusal(self._path, "claims a list of contents larger than any PyTorch archive's")
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Return that it can be read anywhere."""
        return True


def state_tensors(value: Any, kind: type[_T], *, wrappers: int = _MAX_WRAPPERS) -> dict[str, _T]:
    """Return the tensors of a state dict, also where it lies under `state_dict`, `model` or `module`."""
    if not isinstance(value, Mapping):
        return {}
    found = {key: item for key, item in value.items() if isinstance(key, str) and isinstance(item, kind)}
    if found or not wrappers:
        return found
    nested = (state_tensors(value.get(key), kind, wrappers=wrappers - 1) for key in ("state_dict", "model", "module"))
    return next((inner for inner in nested if inner), {})


def _refusal(path: Path, message: str) -> CheckpointError:
    return CheckpointError(message, where=str(path), hint=_CONVERT)
