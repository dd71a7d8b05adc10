"""Fixtures every room uses."""

from __future__ import annotations

import json
import math
import signal
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.fixtures_mlflow import empty_database, mlflow_server, postgres, postgres_server

__all__ = ["empty_database", "mlflow_server", "postgres", "postgres_server"]


def pytest_configure() -> None:
    """Hear Ctrl-C also where a shell started the tests in the background: tests send it to themselves and others."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real inputs beside the checkout; the test skips where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"real inputs are not here: {folder}")
    return folder


class WriteCheckpoint(Protocol):
    """Writes a checkpoint folder: a config and tensors by name, each (dtype, shape) or (dtype, shape, data)."""

    def __call__(
        self,
        folder: Path,
        config: Mapping[str, Any] | None = None,
        tensors: Mapping[str, tuple[Any, ...]] | None = None,
        *,
        file: str = "model.safetensors",
    ) -> Path:
        """Return the folder; data that is not given is left as a hole in a sparse file."""
        ...


ITEM_BYTES = {"BOOL": 1, "U8": 1, "F16": 2, "BF16": 2, "F32": 4, "I32": 4, "I64": 8}


@pytest.fixture(scope="session")
def write_checkpoint() -> WriteCheckpoint:
    """Builder of small checkpoints: a header is enough, weights are holes."""

    def write(
        folder: Path,
        config: Mapping[str, Any] | None = None,
        tensors: Mapping[str, tuple[Any, ...]] | None = None,
        *,
        file: str = "model.safetensors",
    ) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        if config is not None:
            (folder / "config.json").write_text(json.dumps(config))
        if tensors is None:
            return folder
        header: dict[str, Any] = {}
        offset = 0
        for name, (dtype, shape, *_) in tensors.items():
            end = offset + math.prod(shape) * ITEM_BYTES[dtype]
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
            offset = end
        text = json.dumps(header).encode()
        with (folder / file).open("wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for name, (_, _, *data) in tensors.items():
                if data:
                    out.seek(8 + len(text) + header[name]["data_offsets"][0])
                    out.write(data[0])
            out.truncate(8 + len(text) + offset)
        return folder

    return write
