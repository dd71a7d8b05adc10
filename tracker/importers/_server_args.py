"""The `server_args=` line of SGLang, and where in a log one server ends and the next one begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.server import Speculation

_MARK = b"server_args="
_LINE = re.compile(rb"\bserver_args=(?:ServerArgs\(|\{)")
_ARGUMENT = re.compile(
    r"['\"]?\b(model_path|speculative_algorithm|speculative_draft_model_path|speculative_num_steps|"
    r"speculative_eagle_topk|speculative_num_draft_tokens|disable_cuda_graph)['\"]?[=:] ?(None|True|False|\d+|'[^']*')"
)
# Drawn anew at each start, so that it does not make the same server another one.
_DRAWN = re.compile(rb"['\"]?random_seed['\"]?[=:] ?\d+")


def parts(block: bytes) -> Iterator[bytes]:
    """Yield a block of whole lines in parts that each begin with a `server_args=` line, the first as it comes."""
    begin = 0
    at = block.find(_MARK)
    while at >= 0:
        line = block.rfind(b"\n", begin, at) + 1
        if line > begin:
            yield block[begin:line]
            begin = line
        at = block.find(_MARK, at + 1)
    yield block[begin:]


def printed(part: bytes) -> bytes | None:
    """Return the arguments that a part begins with, without what differs at each start; None where it has none."""
    found = _LINE.search(part, 0, part.find(b"\n") + 1 or len(part))
    return None if found is None else _DRAWN.sub(b"", part[found.start() : part.find(b"\n", found.start())])


def read(line: bytes) -> dict[str, str]:
    """Return the arguments that matter here, as printed and without quotes."""
    return {name: value.strip("'") for name, value in _ARGUMENT.findall(line.decode(errors="replace"))}


def speculation(arguments: Mapping[str, str]) -> Speculation | None:
    """Return the speculative settings; None where the arguments do not say."""
    algorithm = arguments.get("speculative_algorithm")
    if algorithm is None:
        return None
    if algorithm == "None":
        return Speculation(enabled=False)
    numbers = {
        name: int(value)
        for name in ("num_steps", "eagle_topk", "num_draft_tokens")
        if (value := arguments.get(f"speculative_{name}", "")).isdigit()
    }
    draft = arguments.get("speculative_draft_model_path")
    return Speculation(
        enabled=True,
        algorithm=algorithm.upper(),
        num_steps=numbers.get("num_steps"),
        eagle_topk=numbers.get("eagle_topk"),
        num_draft_tokens=numbers.get("num_draft_tokens"),
        draft_model_path=None if draft == "None" else draft,
    )


def checkpoint(path: str | None) -> Checkpoint | None:
    """Return a model named by path or Hub id."""
    if not path or path == "None":
        return None
    return Checkpoint(name=PurePosixPath(path).name or path, path=path)
