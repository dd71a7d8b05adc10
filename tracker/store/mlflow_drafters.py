"""Drafters as MLflow's logged models: one page a drafter, with every number of every run that served it.

Looking a model up in MLflow loads every metric of every run that served it (0.3 s after 100 runs, measured on 3.17), so
what is known of each drafter is kept beside the campaign, in tags of its experiment, which are read anyway.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import RunRecord
from tracker.store.mlflow_names import Names, model_slug, shortened
from tracker.store.mlflow_note import as_markdown
from tracker.store.mlflow_projection import CHECKPOINT_FACTS, FULL_RECORD, as_text

MODEL_TYPE = "drafter"
EXTERNAL = {"mlflow.model.isExternal": "true"}
KNOWN = "tracker.drafter."
"""Prefix of the experiment's tags: `tracker.drafter.<model id>` holds the JSON of what is known of that drafter."""
NAME_TAG = "tracker.drafter"
TRAINED_BY = "drafter.trained_by"
"""Tag of a benchmark and of its drafter's page: run id of the training that made the drafter."""
NOTE = "mlflow.note.content"
TRAINING_FACTS = ("samples", "tokens", "optimizer_steps", "epochs", "mix", "data_name", "data_digest")
MAX_FACT = 500
PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """What is known of one drafter, as MLflow's tags and parameters."""

    tags: Mapping[str, str]
    """Name, revision, digests, file sizes, target."""
    params: Mapping[str, str]
    """Shape, vocabulary, training data."""

    def agrees(self, other: Drafter) -> bool:
        """Return whether both can be one checkpoint: one name, and nothing known of both differs."""
        return self.tags.get(NAME_TAG) == other.tags.get(NAME_TAG) and all(
            theirs.get(key, value) == value
            for ours, theirs in ((self.tags, other.tags), (self.params, other.params))
            for key, value in ours.items()
        )

    def joined(self, other: Drafter) -> Drafter:
        """Return all that is known of both."""
        return Drafter(tags={**other.tags, **self.tags}, params={**other.params, **self.params})


def drafter_model(client: Any, record: RunRecord, experiment: Any, *, source_run_id: str | None) -> str | None:
    """Return the id of the logged model of a record's drafter, made if need be; None without a drafter.

    A folder retrained in place, or one name in two places with other content, is another drafter; a record that knows
    less of a checkpoint than another is counted to it.

    Args:
        client: MlflowClient.
        record: The record.
        experiment: MLflow's experiment, freshly read.
        source_run_id: The training run, when this record is one.
    """
    if record.drafter is None:
        return None
    wanted = _described(record.drafter, record)
    for model_id, known in _known(experiment):
        if known.agrees(wanted):
            _complete(client, experiment, model_id, known, wanted)
            return model_id
    made = _orphan(client, experiment, wanted) or _make(client, experiment, wanted, source_run_id)
    _remember(client, experiment, made, wanted)
    return _settled(client, experiment, made, wanted)


def is_known(record: RunRecord, experiment: Any) -> bool:
    """Return whether the page of a record's drafter is there and says all that the record knows of it."""
    if record.drafter is None:
        return True
    wanted = _described(record.drafter, record)
    found = next((known for _, known in _known(experiment) if known.agrees(wanted)), None)
    return found is not None and found == found.joined(wanted)


def _make(client: Any, experiment: Any, wanted: Drafter, source_run_id: str | None) -> str:
    created = client.create_logged_model(
        experiment.experiment_id,
        name=model_slug(wanted.tags[NAME_TAG]),
        source_run_id=source_run_id,
        tags=EXTERNAL | {NOTE: _description(wanted)} | dict(wanted.tags),
        params=dict(wanted.params),
        model_type=MODEL_TYPE,
    )
    client.finalize_logged_model(created.model_id, "READY")
    return str(created.model_id)


def _known(experiment: Any) -> list[tuple[str, Drafter]]:
    """Return the drafters of a campaign in an order on which all processes agree."""
    found = []
    for key, value in sorted(experiment.tags.items()):
        if key.startswith(KNOWN):
            facts = json.loads(value)
            found.append((key.removeprefix(KNOWN), Drafter(tags=facts["tags"], params=facts["params"])))
    return found


def _orphan(client: Any, experiment: Any, wanted: Drafter) -> str | None:
    """Return a model that a process made and was killed before it could be remembered."""
    remembered = {model_id for model_id, _ in _known(experiment)}
    slug = model_slug(wanted.tags[NAME_TAG])
    found = client.search_logged_models([experiment.experiment_id], filter_string=f"name = '{slug}'", max_results=PAGE)
    for model in sorted(found, key=lambda model: str(model.model_id)):
        known = Drafter(tags=model.tags, params=model.params)
        if model.model_id not in remembered and wanted.agrees(known):
            if str(model.status) != "READY":
                client.finalize_logged_model(model.model_id, "READY")
            return str(model.model_id)
    return None


def _settled(client: Any, experiment: Any, model_id: str, wanted: Drafter) -> str:
    """Return the model that all processes agree on, when two made one for the same drafter at the same moment."""
    fresh = client.get_experiment(experiment.experiment_id)
    agreed = [other for other, known in _known(fresh) if known.agrees(wanted)]
    if agreed and agreed[0] != model_id:
        client.delete_experiment_tag(experiment.experiment_id, f"{KNOWN}{model_id}")
        client.delete_logged_model(model_id)
        return agreed[0]
    return model_id


def _remember(client: Any, experiment: Any, model_id: str, drafter: Drafter) -> None:
    facts = json.dumps({"tags": dict(drafter.tags), "params": dict(drafter.params)}, sort_keys=True)
    client.set_experiment_tag(experiment.experiment_id, f"{KNOWN}{model_id}", facts)


def _complete(client: Any, experiment: Any, model_id: str, known: Drafter, wanted: Drafter) -> None:
    """Add what an earlier, less detailed record did not know."""
    new_tags = {key: value for key, value in wanted.tags.items() if key not in known.tags}
    new_params = {key: value for key, value in wanted.params.items() if key not in known.params}
    if new_tags:
        client.set_logged_model_tags(model_id, new_tags)
    if new_params:
        # MLflow takes a parameter once; a process that was killed before it remembered them has written some.
        there = client.get_logged_model(model_id).params
        missing = {key: value for key, value in new_params.items() if key not in there}
        if missing:
            client.log_model_params(model_id, missing)
        client.set_logged_model_tags(model_id, {NOTE: _description(known.joined(wanted))})
    if new_tags or new_params:
        _remember(client, experiment, model_id, known.joined(wanted))


def name_training(client: Any, experiment: Any, model_id: str, training: RunRecord, run: Any) -> None:
    """Say on a drafter's page which training made it and on what data, in words that `forget_training` takes back.

    Args:
        client: MlflowClient.
        experiment: MLflow's experiment that the page is in.
        model_id: The page.
        training: The training's record.
        run: MLflow's run of it.
    """
    facts = {} if training.training is None else {name: getattr(training.training, name) for name in TRAINING_FACTS}
    told = Drafter(tags={}, params={name: as_text(value) for name, value in facts.items() if value is not None})
    known = dict(_known(experiment)).get(model_id, Drafter(tags={}, params={}))
    place = f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}?workflowType=machine_learning"
    note = _description(known.joined(told), by=f"[{as_markdown(training.name)}]({place})")
    client.set_logged_model_tags(model_id, {TRAINED_BY: run.info.run_id, NOTE: note})


def forget_training(client: Any, experiment: Any, model_id: str, training_run_id: str) -> None:
    """Take back what `name_training` wrote, where it named this training."""
    known = dict(_known(experiment)).get(model_id)
    if known is not None and client.get_logged_model(model_id).tags.get(TRAINED_BY) == training_run_id:
        client.set_logged_model_tags(model_id, {NOTE: _description(known)})
        client.delete_logged_model_tag(model_id, TRAINED_BY)


def _description(drafter: Drafter, *, by: str | None = None) -> str:
    """Return what the model's page says first: what it is, what it was trained on, and what the page shows.

    Args:
        drafter: What is known of it.
        by: The training that made it, as Markdown.
    """
    facts = {**drafter.tags, **drafter.params}
    kind = "".join(f" {facts[key]}" for key in ("kind", "architecture") if key in facts)
    data = [f"{int(facts[key]):,} {key}" for key in ("samples", "tokens") if facts.get(key, "").isdigit()]
    trained = f"trained on {', '.join(data)}" if data else "trained on an amount of data that was not recorded"
    target = f", drafts for {facts['target.name']}" if "target.name" in facts else ""
    what = as_markdown(f"Drafter{kind}, {trained}{target}.")
    made = "" if by is None else f" It was made by the training {by}."
    return f"{what}{made} Below are the numbers of every run that served it."


def _described(drafter: Checkpoint, record: RunRecord) -> Drafter:
    sizes = json.dumps(dict(drafter.file_sizes_bytes), sort_keys=True) if drafter.file_sizes_bytes else None
    tags = {
        NAME_TAG: drafter.name,
        "tracker.revision": drafter.revision,
        "tracker.config_sha256": drafter.config_digest,
        "tracker.header_sha256": drafter.header_digest,
        "tracker.file_sizes_bytes": sizes,
        "target.name": None if record.target is None else record.target.name,
    }
    names = Names()
    params = {name: getattr(drafter, name) for name in CHECKPOINT_FACTS if name not in ("path", "name", "revision")}
    if record.training is not None:
        params |= {name: getattr(record.training, name) for name in TRAINING_FACTS}
    return Drafter(
        tags={key: shortened(text, MAX_FACT, where=FULL_RECORD) for key, text in tags.items() if text is not None},
        params={
            names.key(name): shortened(as_text(value), MAX_FACT, where=FULL_RECORD)
            for name, value in params.items()
            if value is not None
        },
    )
