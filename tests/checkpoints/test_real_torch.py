"""PyTorch archives as torch itself writes them; skipped where torch is not installed (it is an extra)."""

from __future__ import annotations

import json
import pickle
import struct
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from tracker import checkpoints, lint
from tracker.errors import CheckpointError
from tracker.lint.base import Subject

torch = pytest.importorskip("torch", reason="torch is an extra and not installed here")

H, VOCAB, DRAFT = 512, 400, 300
CONFIG = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": H, "vocab_size": VOCAB, "draft_vocab_size": DRAFT}
SAFETENSORS_NAMES = {
    "torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16", "torch.int64": "I64",
    "torch.bool": "BOOL", "torch.uint8": "U8", "torch.float8_e4m3fn": "F8_E4M3",
}  # fmt: skip


def _trained(rows: int) -> Any:
    generator = torch.Generator().manual_seed(7)
    lengths = torch.exp(0.4 * torch.randn(rows, 1, generator=generator))
    return torch.randn(rows, H, generator=generator) * lengths


def _state() -> OrderedDict[str, Any]:
    t2d = torch.zeros(VOCAB, dtype=torch.bool)
    t2d[:DRAFT] = True
    return OrderedDict(
        {
            "fc.weight": torch.nn.Parameter(torch.randn(H, 3 * H).to(torch.bfloat16)),
            "midlayer.hidden_norm.weight": torch.ones(H, dtype=torch.float16),
            "norm.weight": torch.ones(H),
            "lm_head.weight": _trained(DRAFT).to(torch.bfloat16),
            "d2t": torch.zeros(DRAFT, dtype=torch.int64),
            "t2d": t2d,
            "scales": torch.ones(4, dtype=torch.uint8),
            "half": torch.randn(6, 4)[::2],  # not contiguous: the storage is larger than the tensor
        }
    )


def _folder(path: Path, content: Any, *, name: str = "pytorch_model.bin", **how: Any) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    torch.save(content, path / name, **how)
    return path


def _as_safetensors(path: Path, state: OrderedDict[str, Any]) -> Path:
    """Write the same tensors as a safetensors file, from their bytes."""
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    header, body = {}, b""
    for name, tensor in state.items():
        data = tensor.detach().contiguous().view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": SAFETENSORS_NAMES[str(tensor.dtype)],
            "shape": list(tensor.shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    text = json.dumps(header).encode()
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


@pytest.mark.parametrize("wrap", [lambda state: state, lambda state: {"model": state, "epoch": 3}])
@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_an_archive_of_torch_is_described_like_the_same_tensors_in_safetensors(
    wrap: Any, name: str, tmp_path: Path
) -> None:
    state = _state()

    found = checkpoints.describe(_folder(tmp_path / "pt", wrap(state), name=name))

    same = checkpoints.describe(_as_safetensors(tmp_path / "st", state))
    assert found.header_digest == same.header_digest
    assert (found.kind, found.fc_input_width, found.has_draft_vocab_map) == ("eagle3", 3 * H, True)
    assert found.key_tensors == same.key_tensors
    read = torch.load(tmp_path / "pt" / name, weights_only=True)
    assert found.tensor_count == len(read.get("model", read))


def test_eight_bit_floats_are_described(tmp_path: Path) -> None:
    state = OrderedDict({"fc.weight": torch.ones(H, 3 * H).to(torch.float8_e4m3fn), "norm.weight": torch.ones(H)})

    found = checkpoints.describe(_folder(tmp_path / "f8", state))

    assert found.header_digest == checkpoints.describe(_as_safetensors(tmp_path / "st", state)).header_digest


def test_tied_tensors_are_both_there(tmp_path: Path) -> None:
    shared = torch.randn(VOCAB, H)

    found = checkpoints.describe(
        _folder(tmp_path / "tied", {"embed_tokens.weight": shared, "lm_head.weight": shared, "norm.weight": shared[0]})
    )

    assert found.tensor_count == 3
    assert found.key_tensors["norm.weight"] == (H,)


def test_a_whole_model_and_the_layout_before_1_6_are_refused_as_torch_refuses_them(tmp_path: Path) -> None:
    whole = _folder(tmp_path / "whole", torch.nn.Linear(4, 4))
    with pytest.raises(pickle.UnpicklingError):
        torch.load(whole / "pytorch_model.bin", weights_only=True)
    with pytest.raises(CheckpointError, match=r"wants to call torch\.nn\.modules\.linear\.Linear while it is read"):
        checkpoints.describe(whole)

    old = _folder(tmp_path / "old", _state(), _use_new_zipfile_serialization=False)
    with pytest.raises(CheckpointError, match=r"no PyTorch archive: the layout before PyTorch 1\.6"):
        checkpoints.describe(old)


class _Evil:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return Path.touch, (self.target,)


def test_a_pickle_that_would_run_code_runs_it_nowhere(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    folder = _folder(tmp_path / "evil", {"fc.weight": torch.ones(2, 2), "extra": _Evil(victim)})

    with pytest.raises(CheckpointError, match="nothing was run"):
        checkpoints.describe(folder)
    described = checkpoints.from_facts("evil", {"hidden_size": H})
    with pytest.raises(CheckpointError, match="torch refuses the file"):
        checkpoints.inspect_weights(described, folder)

    assert not victim.exists()


@pytest.mark.parametrize("write", [_folder, _as_safetensors])
def test_deep_finds_the_same_in_both_formats(write: Any, tmp_path: Path) -> None:
    state = _state()
    state["fc.weight"] = state["fc.weight"].detach().clone()
    state["fc.weight"][3, 5] = float("nan")
    state["embed_tokens.weight"] = torch.randn(VOCAB, H) * 0.02
    state["zero.weight"] = torch.zeros(8, H, dtype=torch.bfloat16)
    del state["half"]
    told: list[tuple[int, int]] = []
    folder = write(tmp_path / "deep", state)

    found = checkpoints.inspect_weights(checkpoints.describe(folder), folder, progress=lambda *at: told.append(at))

    assert found.not_finite_tensors == ("fc.weight",)
    assert found.zero_tensors == ("zero.weight",)
    assert found.untrained_tensors == ("embed_tokens.weight",)
    assert told[-1][0] == told[-1][1] > 0
    codes = {finding.code for finding in lint.run(Subject(drafter=found))}
    assert {"WEIGHTS_NOT_FINITE", "WEIGHTS_ALL_ZERO", "WEIGHTS_LOOK_UNTRAINED"} <= codes


def test_describing_an_archive_does_not_import_torch(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "pt", _state())
    script = f"import sys; from tracker import checkpoints; checkpoints.describe({str(folder)!r}); " + (
        "print('torch' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
