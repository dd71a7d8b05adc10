"""What a live SGLang server says about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.domain.redaction import clean_bytes
from tracker.engines._http import Answer, get
from tracker.engines.base import LiveServer
from tracker.errors import ServerError

if TYPE_CHECKING:
    import httpx

    from tracker.engines.base import Engine

# Newest name first; the older one is still answered in 0.5.23, with a deprecation line in the server's log.
_INFO_PATHS = ("/server_info", "/get_server_info")
_MODEL_PATHS = ("/model_info", "/get_model_info")


def fetch_sglang(engine: Engine, client: httpx.Client, url: str) -> LiveServer | None:
    """Return the server's description, model and metrics; None when it is no SGLang server.

    Raises:
        ServerError: The server does not answer, or answers nonsense.
    """
    info = _first(client, url, _INFO_PATHS)
    if info is None:
        return None
    described = info.json_object()
    if not engine.claims_info(described):
        return None
    model = _optional(client, url, _MODEL_PATHS)
    answers = {
        "server_info.json": info,
        "model_info.json": model,
        "models.json": _optional(client, url, ("/v1/models",)),
        "metrics.prom": _optional(client, url, ("/metrics",)),
    }
    return LiveServer(
        config=engine.parse_info(described),
        model_path=_model_path(model) or _text(described.get("model_path")),
        bodies={name: clean_bytes(answer.body) for name, answer in answers.items() if answer is not None},
    )


def _first(client: httpx.Client, url: str, paths: tuple[str, ...]) -> Answer | None:
    for path in paths:
        answer = get(client, url + path)
        if answer is not None:
            return answer
    return None


def _optional(client: httpx.Client, url: str, paths: tuple[str, ...]) -> Answer | None:
    """Return an answer that is welcome but not needed: a server that has described itself may refuse the rest."""
    try:
        return _first(client, url, paths)
    except ServerError:
        return None


def _model_path(answer: Answer | None) -> str | None:
    try:
        return None if answer is None else _text(answer.json_object().get("model_path"))
    except ServerError:
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
