"""What reading all weights shows, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracker import checkpoints, lint
from tracker.lint.base import Subject

H, ROWS = 512, 300
CONFIG = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": H}


def _bf16(values: Any) -> bytes:
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()


def _trained(rng: np.random.Generator) -> Any:
    return rng.normal(0, 0.02, (ROWS, H)) * rng.lognormal(0, 0.3, (ROWS, 1))


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32"])
def test_noise_zeros_and_nan_are_found_and_healthy_weights_are_not(
    dtype: str, tmp_path: Path, write_checkpoint: Any
) -> None:
    rng = np.random.default_rng(7)
    encode = {
        "BF16": _bf16,
        "F16": lambda v: np.asarray(v, "<f2").tobytes(),
        "F32": lambda v: np.asarray(v, "<f4").tobytes(),
    }[dtype]
    broken = rng.normal(0, 1, (4, H))
    broken[3, 5] = np.nan
    endless = np.ones((4, H))
    endless[0, 0] = np.inf
    folder = write_checkpoint(
        tmp_path / "d",
        CONFIG,
        {
            "embed_tokens.weight": (dtype, (ROWS, H), encode(rng.normal(0, 0.02, (ROWS, H)))),
            "lm_head.weight": (dtype, (ROWS, H), encode(_trained(rng))),
            "fc.weight": (dtype, (4, H), encode(broken)),
            "b.weight": (dtype, (4, H), encode(endless)),
            "zero.weight": (dtype, (4, H), encode(np.zeros((4, H)))),
            "bias": (dtype, (H,), encode(np.zeros(H))),
            "d2t": ("I64", (8,)),
        },
    )
    told: list[tuple[int, int]] = []

    found = checkpoints.inspect_weights(checkpoints.describe(folder), folder, progress=lambda *at: told.append(at))

    assert found.not_finite_tensors == ("b.weight", "fc.weight")
    assert found.zero_tensors == ("zero.weight",)
    assert found.untrained_tensors == ("embed_tokens.weight",)
    assert told[-1][0] == told[-1][1] > 0
    codes = {finding.code for finding in lint.run(Subject(drafter=found))}
    assert {"WEIGHTS_NOT_FINITE", "WEIGHTS_ALL_ZERO", "WEIGHTS_LOOK_UNTRAINED"} <= codes


def test_a_large_tensor_is_read_in_pieces(tmp_path: Path, write_checkpoint: Any) -> None:
    import tracemalloc

    rows = 100_000_000 // (2 * H)
    folder = write_checkpoint(tmp_path / "d", CONFIG, {"fc.weight": ("BF16", (rows, H), _bf16(np.ones(H)))})
    described = checkpoints.describe(folder)
    tracemalloc.start()

    found = checkpoints.inspect_weights(described, folder)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150_000_000
    assert found.zero_tensors == ()
    assert found.not_finite_tensors == ()
