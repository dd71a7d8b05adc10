"""Names, types and shapes in PyTorch `.bin`/`.pt` files, read without torch, weights, or running anything.

Such a file is a zip archive with one pickle (`data.pkl`) that rebuilds tensors from storages. A pickle can call any
function; this reader lets it call four of PyTorch's own, each replaced by a stand-in that keeps a name and a shape. A
pickle that asks for anything else is refused before it is called (the rule that `torch.load(weights_only=True)`
follows).
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tracker.errors import CheckpointError

_T = TypeVar("_T")

MAX_PICKLE_BYTES = 64 * 1024 * 1024
MAX_DIMENSIONS = 16
_DTYPES = {
    "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "DoubleStorage": "F64",
    "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8",
    "BoolStorage": "BOOL", "UntypedStorage": "U8", "Float8_e4m3fnStorage": "F8_E4M3",
    "Float8_e5m2Storage": "F8_E5M2",
}  # fmt: skip
# Types without a storage class of their own are named by their dtype (`_rebuild_tensor_v3`).
_NEWER_DTYPES = {
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0", "float4_e2m1fn_x2": "F4",
    "uint16": "U16", "uint32": "U32", "uint64": "U64",
}  # fmt: skip
_TRAINER_FILES = frozenset({"training_args.bin", "optimizer.pt", "scheduler.pt", "training_state.pt", "rng_state.pth"})
_CONVERT = "Convert it to safetensors on a machine you trust with it: `safetensors.torch.save_file(...)`."


@dataclass(frozen=True, slots=True)
class PickledTensor:
    """One tensor as the pickle describes it."""

    dtype: str
    """Element type in safetensors' names."""
    shape: tuple[int, ...]
    """Shape."""


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
        value = _Reader(io.BytesIO(content), path).load()
    except CheckpointError:
        raise
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise CheckpointError(f"holds a damaged pickle ({error})", where=str(path), hint=_CONVERT) from error
    except (RecursionError, MemoryError, OverflowError) as error:
        raise CheckpointError("holds a pickle made to exhaust its reader", where=str(path), hint=_CONVERT) from error
    found = state_tensors(value, PickledTensor)
    if not found:
        raise CheckpointError(
            "holds no tensors by name", where=str(path), hint="Is it a training state? Give the exported model."
        )
    return found


def _pickle_of(path: Path) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
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
            return archive.read(named[0])
    except zipfile.BadZipFile as error:
        raise CheckpointError(
            "is no PyTorch archive: the layout before PyTorch 1.6 must be unpickled, which could run code",
            where=str(path),
            hint=_CONVERT,
        ) from error
    except (OSError, NotImplementedError, RuntimeError) as error:
        raise CheckpointError(f"cannot be read ({error})", where=str(path), hint="Check the file.") from error


class _Reader(pickle.Unpickler):
    """An unpickler that knows a few harmless names and refuses the rest by name."""

    def __init__(self, file: io.BytesIO, path: Path) -> None:
        super().__init__(file)
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        """Return a stand-in for what a state dict needs; anything else is refused, not imported."""
        if module == "collections" and name == "OrderedDict":
            return OrderedDict
        if module == "torch._utils" and name in ("_rebuild_tensor_v2", "_rebuild_tensor"):
            return _rebuild
        if module == "torch._utils" and name == "_rebuild_tensor_v3":
            return _rebuild_typed
        if module == "torch" and name in _NEWER_DTYPES:
            return _NEWER_DTYPES[name]
        if module == "torch._utils" and name == "_rebuild_parameter":
            return _rebuild_parameter
        if module in ("torch", "torch.storage") and name in _DTYPES:
            return _DTYPES[name]
        raise _refusal(self._path, f"wants to call {module}.{name} while it is read; nothing was run")

    def persistent_load(self, pid: Any) -> Any:
        """Return a storage's element type; its bytes are not read."""
        if isinstance(pid, tuple) and len(pid) >= 2 and pid[0] == "storage" and isinstance(pid[1], str):
            return pid[1]
        raise _refusal(self._path, "refers to something that is no tensor storage")


def _rebuild(storage: Any, offset: Any, size: Any, *rest: Any) -> PickledTensor:
    del offset, rest
    proper = isinstance(size, tuple) and len(size) <= MAX_DIMENSIONS and all(isinstance(part, int) for part in size)
    if not isinstance(storage, str) or not proper:
        raise ValueError("a tensor without storage and shape")
    return PickledTensor(storage, size)


def _rebuild_typed(storage: Any, offset: Any, size: Any, *rest: Any) -> PickledTensor:
    dtype = rest[3] if len(rest) > 3 else None
    if not isinstance(dtype, str):
        raise ValueError("a tensor without an element type")
    return _rebuild(dtype if isinstance(storage, str) else storage, offset, size)


def _rebuild_parameter(data: Any, *rest: Any) -> Any:
    del rest
    return data


def state_tensors(value: Any, kind: type[_T]) -> dict[str, _T]:
    """Return the tensors of a state dict, also where it lies under `state_dict` or `model`."""
    if not isinstance(value, Mapping):
        return {}
    found = {key: item for key, item in value.items() if isinstance(key, str) and isinstance(item, kind)}
    nested = (state_tensors(value.get(key), kind) for key in ("state_dict", "model", "module"))
    return found or next((inner for inner in nested if inner), {})


def _refusal(path: Path, message: str) -> CheckpointError:
    return CheckpointError(message, where=str(path), hint=_CONVERT)
