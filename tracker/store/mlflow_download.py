"""One small file of many runs through a server: MLflow asks for the first, the others are asked for as it did.

A request of MLflow's takes 2 to 3 ms of the client's CPU, a third of it looking for Databricks each time anew (3.17).
On a machine that also serves, ten thousand of them take longer than the answers. What is sent is the same: headers,
certificates and the way through a proxy are those of MLflow's own request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

OK = 200


def ask_mlflow(_: Any) -> bytes | None:
    """Leave a file to MLflow."""
    return None


@contextlib.contextmanager
def asking(repository: Any, name: str, *, at_once: int) -> Iterator[Callable[[Any], bytes | None]]:
    """Yield what returns the file of a run by its artifact repository; None where MLflow itself is to ask.

    That is for whatever is not answered at once with the file: MLflow tries again, and knows what is wrong.

    Args:
        repository: Any of the repositories to be asked for.
        name: The file's name.
        at_once: How many threads ask.
    """
    import requests
    from mlflow.environment_variables import MLFLOW_HTTP_REQUEST_TIMEOUT
    from requests.adapters import HTTPAdapter

    first = _first(repository, name)
    if first is None:
        yield ask_mlflow
        return
    credentials = repository._host_creds
    timeout_s = MLFLOW_HTTP_REQUEST_TIMEOUT.get()
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(pool_maxsize=at_once))
        settings = session.merge_environment_settings(
            first.url, {}, False, credentials.verify, credentials.client_cert_path
        )

        def ask(of_run: Any) -> bytes | None:
            request = first.copy()
            request.url = f"{of_run.artifact_uri.rstrip('/')}/{name}"
            if urlsplit(request.url)[:2] != urlsplit(first.url)[:2]:
                return None  # another server is none of these credentials' business
            try:
                answer = session.send(request, timeout=timeout_s, allow_redirects=False, **settings)
            except requests.RequestException:
                return None
            content: bytes | None = answer.content if answer.status_code == OK else None
            return content

        yield ask


def _first(repository: Any, name: str) -> Any | None:
    """Return MLflow's own request for a file; None where another file is not to be had by the same."""
    from mlflow.exceptions import MlflowException
    from mlflow.store.artifact.http_artifact_repo import HttpArtifactRepository
    from mlflow.utils.rest_utils import http_request

    if not isinstance(repository, HttpArtifactRepository):
        return None
    credentials = repository._host_creds
    if credentials.auth or credentials.aws_sigv4 or credentials.use_databricks_sdk:
        return None  # each request is signed for itself
    try:
        answer = http_request(credentials, f"/{name}", "GET")
    except MlflowException:
        return None
    return None if answer.history else answer.request  # sent on to another place, it may have left its credentials
