"""Foreign exceptions as one sentence each, and what an amendment refuses."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from tests.store import samples
from tracker.domain.record import Amendment
from tracker.errors import InputError, RunNotFoundError, StoreError
from tracker.store.amending import apply_amendment
from tracker.store.failures import ContendedError, StoreDownError
from tracker.store.mlflow_errors import store_errors


def raised(error: Exception) -> StoreError:
    with pytest.raises(StoreError) as caught, store_errors("the run could not be stored", where="http://host"):
        raise error
    assert caught.value.__cause__ is error
    return caught.value


def mlflow_error(message: str, code: int | None = None) -> Exception:
    from mlflow.exceptions import MlflowException

    return MlflowException(message) if code is None else MlflowException(message, code)


@pytest.mark.parametrize(
    ("message", "kind", "hint"),
    [
        ("API request to endpoint /x failed with error code 401 != 200. Response body: ''", StoreError, "PASSWORD"),
        ("API request to endpoint /x failed with error code 404 != 200.", StoreError, "MLflow 3 or newer"),
        ("API request to http://h failed with exception Max retries exceeded", StoreDownError, "tracker sync"),
        (
            "Max retries exceeded (Caused by ResponseError('too many 503 error responses'))",
            StoreDownError,
            "answers 503",
        ),
        ("API request to endpoint /x failed with error code 302 != 200.", StoreError, "redirects to"),
        ("API request to endpoint /x failed with error code 405 != 200.", StoreError, "redirects to"),
        ("407 Client Error: Proxy Authentication Required for url: http://h", StoreError, "HTTPS_PROXY"),
        ("413 Client Error: Request Entity Too Large for url: http://h", StoreError, "client_max_body_size"),
        ("(sqlite3.OperationalError) database is locked [SQL: INSERT]", StoreError, "Try again when it has finished"),
        ("(sqlite3.OperationalError) database or disk is full [SQL: INSERT]", StoreError, "Free some disk space"),
        ("The run x must be in the 'active' state. Current state is deleted.", ContendedError, "try again"),
        ("(psycopg.errors.UniqueViolation) duplicate key value violates", ContendedError, "try again"),
    ],
)
def test_what_mlflow_says_becomes_one_sentence_with_what_to_do(message: str, kind: type, hint: str) -> None:
    error = raised(mlflow_error(message))

    assert type(error) is kind
    assert error.where == "http://host"
    assert hint in str(error)
    assert "SQL" not in str(error)


@pytest.mark.parametrize("page", ["Response body: '<!doctype html> <p>no'", "Response text: <h1>no</h1> you sent x"])
def test_a_page_made_for_a_browser_is_left_out(page: str) -> None:
    error = raised(mlflow_error(f"API request to endpoint /x failed with error code 404 != 200. {page}"))

    assert error.message.endswith("failed with error code 404 != 200.")


def test_a_run_whose_id_holds_401_is_not_taken_for_a_refusal() -> None:
    error = raised(mlflow_error("something about run 5f504f1ad5324e2cbf401df4034de384"))

    assert error.hint is None


def test_a_run_that_mlflow_does_not_know_is_not_found() -> None:
    from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST

    assert type(raised(mlflow_error("Run 'x' not found", RESOURCE_DOES_NOT_EXIST))) is RunNotFoundError


def test_an_artifact_upload_that_breaks_off_is_a_store_that_does_not_answer() -> None:
    import requests

    assert type(raised(requests.ConnectionError("reset"))) is StoreDownError
    refused = raised(requests.HTTPError("403 Client Error: Forbidden for url: http://host"))
    assert "MLFLOW_TRACKING_TOKEN" in str(refused)


def test_a_full_disk_names_the_file() -> None:
    error = raised(OSError(errno.ENOSPC, "No space left on device", "/data/artifacts/x"))

    assert error.where == "/data/artifacts/x"
    assert "No space left on device" in str(error)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "changes nothing"),
        ({"validity": "good"}, r"^validity: 'good' is no value for it. Use one of ok, suspect, partial, invalid"),
        ({"role": "other"}, r"^role: 'other'"),
        ({"name": ""}, r"^name: a run needs a name"),
        ({"name": None}, r"^name: None"),
        ({"note": 3}, r"^note: 3 is no value for it. Give a text"),
        ({"training.samples": -1}, r"^training.samples: -1 is no count"),
        ({"training.samples": 1.5}, r"^training.samples: 1.5 is no count"),
        ({"training.samples": True}, r"^training.samples: True is no count"),
        ({"training.cost": 3}, r"training.cost cannot be amended"),
        ({"tags.": "x"}, r"tags. cannot be amended"),
        ({"measurements": ()}, r"measurements cannot be amended. These can be changed: validity"),
    ],
)
def test_an_amendment_that_means_nothing_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_amendment(samples.record(), Amendment(at=samples.LOGGED_AT, by=None, changes=changes))


def test_samples_can_be_given_to_a_run_that_had_no_training_facts() -> None:
    amendment = Amendment(at=samples.LOGGED_AT, by=None, changes={"training.samples": 0})

    record = apply_amendment(samples.record(training=None), amendment)

    assert record.training is not None
    assert record.training.samples == 0
    assert record.training.tokens is None
