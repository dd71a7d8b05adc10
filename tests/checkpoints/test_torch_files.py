"""PyTorch archives: described without torch, and refused before they can run anything."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from tracker import checkpoints
from tracker.errors import CheckpointError

H = 64
CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_size": H, "num_hidden_layers": 1, "vocab_size": 32}


class _Tensor:
    """Pickles as torch writes a tensor: a call of torch._utils._rebuild_tensor_v2 on a persistent storage."""

    def __init__(self, storage: type, shape: tuple[int, ...]) -> None:
        self.storage, self.shape = storage, shape

    def __reduce__(self) -> Any:
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (_Storage(self.storage), 0, self.shape, (1,) * len(self.shape), False, OrderedDict())


class _Storage:
    def __init__(self, kind: type) -> None:
        self.kind = kind


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        return ("storage", obj.kind, "0", "cpu", 1) if isinstance(obj, _Storage) else None


@pytest.fixture
def torch_names(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Modules that carry torch's names, so that pickles refer to them; torch itself is not needed."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")

    def _rebuild_tensor_v2(*parts: Any) -> None:
        raise AssertionError("the reader must not call what the file names")

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    for name in ("BFloat16Storage", "LongStorage", "BoolStorage"):
        setattr(torch, name, type(name, (), {"__module__": "torch"}))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return torch


def _archive(path: Path, content: bytes, *, name: str = "archive/data.pkl") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
        archive.writestr("archive/data/0", bytes(8))
    return path.parent


def _dump(value: Any) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=2).dump(value)
    return buffer.getvalue()


def _state(torch: Any) -> OrderedDict[str, _Tensor]:
    return OrderedDict(
        {
            "fc.weight": _Tensor(torch.BFloat16Storage, (H, 3 * H)),
            "lm_head.weight": _Tensor(torch.BFloat16Storage, (8, H)),
            "d2t": _Tensor(torch.LongStorage, (8,)),
            "t2d": _Tensor(torch.BoolStorage, (32,)),
        }
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_archive_is_described_like_a_safetensors_file(
    torch_names: Any, wrapped: bool, tmp_path: Path, write_checkpoint: Any
) -> None:
    state = _state(torch_names)
    folder = write_checkpoint(tmp_path / "pt", CONFIG)
    _archive(folder / "pytorch_model.bin", _dump({"state_dict": state, "epoch": 3} if wrapped else state))
    types_of = {"fc.weight": "BF16", "lm_head.weight": "BF16", "d2t": "I64", "t2d": "BOOL"}
    same = write_checkpoint(tmp_path / "st", CONFIG, {name: (types_of[name], t.shape) for name, t in state.items()})

    found = checkpoints.describe(folder)

    assert found.kind == "eagle3"
    assert found.fc_input_width == 3 * H
    assert found.has_draft_vocab_map is True
    assert found.sources == ("config.json", "pytorch archive")
    assert found.header_digest == checkpoints.describe(same).header_digest


class _Evil:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return Path.touch, (self.target,)


def test_a_pickle_that_would_run_code_is_refused_and_nothing_runs(tmp_path: Path, write_checkpoint: Any) -> None:
    victim = tmp_path / "victim"
    folder = write_checkpoint(tmp_path / "evil", CONFIG)
    _archive(folder / "pytorch_model.bin", pickle.dumps({"fc.weight": _Evil(victim)}))

    with pytest.raises(CheckpointError, match=r"wants to call .* while it is read; nothing was run") as caught:
        checkpoints.describe(folder)

    assert not victim.exists()
    assert "safetensors" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"ctorch\nload\n(tR.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00.",
        b"\x80\x04\x95" + b"\xff" * 8,
        b"(" * 10_000 + b".",
        b"garbage",
        b"",
        pickle.dumps([1, 2]),
        pickle.dumps({"a": 1}),
    ],
)
def test_pickles_that_are_no_state_dict_are_refused(content: bytes, tmp_path: Path, write_checkpoint: Any) -> None:
    folder = write_checkpoint(tmp_path / "x", CONFIG)
    _archive(folder / "model.pt", content)

    with pytest.raises(CheckpointError) as caught:
        checkpoints.describe(folder)

    assert caught.value.where == str(folder / "model.pt")
    assert caught.value.hint


def test_old_pickles_and_foreign_archives_are_refused(tmp_path: Path, write_checkpoint: Any) -> None:
    folder = write_checkpoint(tmp_path / "x", CONFIG)
    (folder / "model.pt").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CheckpointError, match="no PyTorch archive"):
        checkpoints.describe(folder)
    _archive(folder / "model.pt", b"", name="other.txt")
    with pytest.raises(CheckpointError, match=r"without one data\.pkl"):
        checkpoints.describe(folder)


def test_the_training_state_beside_an_export_is_not_read(tmp_path: Path, write_checkpoint: Any) -> None:
    folder = write_checkpoint(tmp_path / "x", CONFIG)
    (folder / "training_state.pt").write_bytes(b"no archive")
    (folder / "optimizer.pt").write_bytes(b"no archive")

    assert checkpoints.describe(folder).sources == ("config.json",)


def test_a_pickle_made_to_exhaust_its_reader_ends_at_once(tmp_path: Path, write_checkpoint: Any) -> None:
    doubled = b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86q" + bytes([i + 1]) for i in range(60))
    shared = b"".join(
        b"}q" + bytes([i + 1]) + b"(U\x05modelh" + bytes([i]) + b"U\x06moduleh" + bytes([i]) + b"u" for i in range(60)
    )
    wide = b"\x8b" + (200_000).to_bytes(4, "little") + b"\x7f" * 200_000
    tensor = b"}U\x09fc.weightctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x010"
    tensor += b"U\x03cpuK\x01tQK\x00"
    for number, content in enumerate(
        (
            b"\x80\x02)q\x00" + doubled + b"0}h\x3cNs.",  # a key whose hash takes 2**60 steps
            b"\x80\x02}q\x00" + shared + b".",  # a state dict under 2**60 paths
            b"\x80\x02" + b"}U\x05model" * 5000 + b"N" + b"s" * 5000 + b".",
            b"\x80\x02}q\x00U\x05modelh\x00s.",  # a mapping inside itself
            b"\x80\x02" + tensor + wide + b"\x85tRs.",  # a shape of 1.6 million bits
            b"\x80\x02" + b"N0" * 2_500_000 + b".",
        )
    ):
        folder = write_checkpoint(tmp_path / str(number), CONFIG)
        _archive(folder / "model.pt", content)

        with pytest.raises(CheckpointError):
            checkpoints.describe(folder)


def test_a_zip_that_lies_about_its_sizes_is_refused_in_bounded_memory(tmp_path: Path, write_checkpoint: Any) -> None:
    packed = write_checkpoint(tmp_path / "packed", CONFIG)
    with zipfile.ZipFile(packed / "model.bin", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 10_000_000)
    with pytest.raises(CheckpointError, match="compressed"):
        checkpoints.describe(packed)
    listing = write_checkpoint(tmp_path / "listing", CONFIG)
    with (listing / "model.bin").open("wb") as file:
        file.truncate(5 * 2**30)  # sparse
        file.seek(0, 2)
        file.write(b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, 0xFFFFFFF0, 0, 0)[:18])
    with pytest.raises(CheckpointError, match="list of contents"):
        checkpoints.describe(listing)


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "a.safetensors"]
)
def test_a_pipe_a_device_or_a_folder_in_the_place_of_a_file_is_never_read(
    name: str, tmp_path: Path, write_checkpoint: Any
) -> None:
    for kind in ("pipe", "device", "folder"):
        folder = write_checkpoint(tmp_path / kind, CONFIG)
        (folder / name).unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(folder / name)
        elif kind == "device":
            (folder / name).symlink_to("/dev/zero")
        else:
            (folder / name).mkdir()

        with pytest.raises(CheckpointError, match="no file but") as caught:
            checkpoints.describe(folder)

        assert caught.value.where == str(folder / name)


def test_a_config_or_an_index_made_to_break_its_reader_is_refused(tmp_path: Path, write_checkpoint: Any) -> None:
    deep = write_checkpoint(tmp_path / "deep", CONFIG)
    (deep / "config.json").write_text('{"rope_scaling":' + '{"a":' * 900 + "1" + "}" * 901)
    with pytest.raises(CheckpointError, match="nested deeper"):
        checkpoints.describe(deep)
    index = write_checkpoint(tmp_path / "index", CONFIG)
    (index / "model.safetensors.index.json").write_text('{"weight_map": {"a": "' + "x" * 5000 + '"}}')
    with pytest.raises(CheckpointError, match="not in the folder"):
        checkpoints.describe(index)
