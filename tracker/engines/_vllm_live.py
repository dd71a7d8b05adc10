"""What a live vLLM server says about itself; only a development server gives its configuration."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tracker.domain.redaction import clean_bytes
from tracker.domain.server import ServerConfig
from tracker.engines._http import get
from tracker.engines.base import LiveServer

if TYPE_CHECKING:
    import httpx

    from tracker.engines.base import Engine


def fetch_vllm(engine: Engine, client: httpx.Client, url: str) -> LiveServer | None:
    """Return version, model and, where served, the configuration; None when it is no vLLM server.

    Raises:
        ServerError: The server does not answer, or answers nonsense.
    """
    answers = {"models.json": get(client, url + "/v1/models"), "version.json": get(client, url + "/version")}
    models, version = answers["models.json"], answers["version.json"]
    listed = models.json_object().get("data") if models is not None else None
    first: Any = listed[0] if isinstance(listed, list) and listed else None
    owner = first.get("owned_by") if isinstance(first, dict) else None
    if owner != "vllm" and version is None:
        return None
    described = get(client, url + "/server_info?config_format=json")
    config = ServerConfig(engine=engine.name, sources=("server_info",))
    if described is not None and engine.claims_info(info := described.json_object()):
        config = engine.parse_info(info)
    number = version.json_object().get("version") if version is not None else None
    if isinstance(number, str):
        config = dataclasses.replace(config, version=number)
    answers |= {"server_info.json": described, "metrics.prom": get(client, url + "/metrics")}
    return LiveServer(
        config=config,
        model_path=_model(first),
        bodies={name: clean_bytes(answer.body) for name, answer in answers.items() if answer is not None},
    )


def _model(listed: Any) -> str | None:
    """Return the path of the first model in `/v1/models` (`root`), else its name."""
    if not isinstance(listed, dict):
        return None
    named = listed.get("root") or listed.get("id")
    return named if isinstance(named, str) else None
