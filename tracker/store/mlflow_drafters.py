"""Drafters as MLflow's logged models: one page a drafter, with every number of every run that served it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import RunRecord
from tracker.store.mlflow_names import MAX_PARAM, Names, model_slug, shortened
from tracker.store.mlflow_projection import CHECKPOINT_FACTS, as_text

MODEL_TYPE = "drafter"
EXTERNAL = {"mlflow.model.isExternal": "true"}
TRAINING_FACTS = ("samples", "tokens", "optimizer_steps", "epochs", "mix", "data_name", "data_digest")
PAGE = 100


def drafter_model(client: Any, record: RunRecord, experiment_id: str, *, source_run_id: str | None) -> str | None:
    """Return the id of the logged model of a record's drafter, made if need be; None without a drafter.

    Two checkpoints are one drafter when they have one name and nothing recorded about them contradicts: a folder
    retrained in place, or the same folder name in two places with other content, is another drafter.

    Args:
        client: MlflowClient.
        record: The record.
        experiment_id: Where its model lives.
        source_run_id: The training run, when this record is one.
    """
    if record.drafter is None:
        return None
    known = _models(client, record.drafter.name, experiment_id)
    tags, params = _tags(record.drafter, record), _params(record)
    for model in known:
        if _agree(model.tags, tags) and _agree(model.params, params):
            _complete(client, model, tags, params)
            return str(model.model_id)
    created = client.create_logged_model(
        experiment_id,
        name=model_slug(record.drafter.name),
        source_run_id=source_run_id,
        tags=EXTERNAL | tags,
        params=params,
        model_type=MODEL_TYPE,
    )
    client.finalize_logged_model(created.model_id, "READY")
    return str(created.model_id)


def _models(client: Any, name: str, experiment_id: str) -> list[Any]:
    found = client.search_logged_models([experiment_id], filter_string=f"name = '{model_slug(name)}'", max_results=PAGE)
    return sorted(found, key=lambda model: (model.creation_timestamp, model.model_id))


def _tags(drafter: Checkpoint, record: RunRecord) -> dict[str, str]:
    sizes = json.dumps(dict(drafter.file_sizes_bytes), sort_keys=True) if drafter.file_sizes_bytes else None
    given = {
        "tracker.drafter": drafter.name,
        "tracker.revision": drafter.revision,
        "tracker.config_sha256": drafter.config_digest,
        "tracker.header_sha256": drafter.header_digest,
        "tracker.file_sizes_bytes": sizes,
        "target.name": None if record.target is None else record.target.name,
    }
    return {key: shortened(text, MAX_PARAM, where="record.json") for key, text in given.items() if text is not None}


def _params(record: RunRecord) -> dict[str, str]:
    names = Names()
    given = {name: getattr(record.drafter, name) for name in CHECKPOINT_FACTS if name not in ("path", "name")}
    if record.training is not None:
        given |= {name: getattr(record.training, name) for name in TRAINING_FACTS}
    return {
        names.key(name): shortened(as_text(value), MAX_PARAM, where="record.json")
        for name, value in given.items()
        if value is not None
    }


def _agree(stored: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(stored.get(key, value) == value for key, value in wanted.items())


def _complete(client: Any, model: Any, tags: Mapping[str, str], params: Mapping[str, str]) -> None:
    """Add what an earlier, less detailed record did not know."""
    new_tags = {key: value for key, value in tags.items() if key not in model.tags}
    new_params = {key: value for key, value in params.items() if key not in model.params}
    if new_tags:
        client.set_logged_model_tags(model.model_id, new_tags)
    if new_params:
        client.log_model_params(model.model_id, new_params)
