"""What a start-up log says beyond the arguments: models loaded, layers captured, whether it is whole."""

from __future__ import annotations

import re

from tracker.domain.server import StartupLog

# SGLang's and vLLM's last line of a start.
_READY = re.compile(r"The server is fired up and ready to roll|Application startup complete")
_LOADED = re.compile(r"Load weight end\.[^\n]*?\btype=(\w+)")
# SGLang builds that say it name the attribute; vLLM (gpu_model_runner.py): "Using auxiliary layers from ... config".
_CAPTURED = re.compile(
    r"(?:layers_to_capture|[Aa]uxiliary layers from (?:speculative )?config)[^\n\[(]{0,40}[\[(]([\d,\s]+)[\])]"
)
_DECODE = re.compile(r"Decode batch[^\n]*?accept len: (\d+(?:\.\d+)?)")


def read_startup(text: str) -> StartupLog:
    """Return what a log says from the arguments of one start on.

    Args:
        text: The log from the line with the arguments to its end.
    """
    ready = _READY.search(text)
    start = text[: ready.start()] if ready else text
    captured = _CAPTURED.search(start)
    lengths = [float(length) for length in _DECODE.findall(text)]
    return StartupLog(
        is_whole=ready is not None,
        loaded_architectures=tuple(dict.fromkeys(_LOADED.findall(start))),
        captured_layers=None if captured is None else tuple(int(layer) for layer in re.findall(r"\d+", captured[1])),
        decode_lines=len(lengths),
        accept_length_mean=sum(lengths) / len(lengths) if lengths else None,
    )
