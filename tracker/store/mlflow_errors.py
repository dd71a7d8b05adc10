"""MLflow's exceptions, and those of what it is built on, as StoreError: what, where, what next."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from tracker.errors import RunNotFoundError, StoreError
from tracker.store.failures import StoreDownError

DOWN = re.compile(
    r"Max retries exceeded|failed with exception|Connection refused|timed out|could not connect|connection failed|"
    r"server closed the connection",
    re.IGNORECASE,
)
LOCKED = re.compile(r"database (table )?is locked", re.IGNORECASE)
NOT_FOUND = "RESOURCE_DOES_NOT_EXIST"
MAX_MESSAGE = 400


@contextlib.contextmanager
def store_errors(doing: str, *, where: str) -> Iterator[None]:
    """Turn foreign exceptions raised inside into StoreError.

    Args:
        doing: What was tried, as in "the run could not be written".
        where: URI without credentials.

    Raises:
        StoreDownError: The store does not answer.
        RunNotFoundError: MLflow says that what was named does not exist.
        StoreError: Anything else it refuses.
    """
    import requests
    import sqlalchemy.exc
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        raise _from_mlflow(error, error.error_code, doing, where) from error
    except (requests.ConnectionError, requests.Timeout) as error:
        raise _down(doing, where) from error
    except requests.RequestException as error:
        raise StoreError(f"{doing}: {_one_line(error)}", where=where, hint=_advice(str(error))) from error
    except sqlalchemy.exc.SQLAlchemyError as error:
        raise _from_mlflow(error, None, doing, where) from error
    except OSError as error:
        raise StoreError(
            f"{doing}: {error.strerror or error}",
            where=str(error.filename or where),
            hint="Check that the disk has space and the folder is writable",
        ) from error


def _from_mlflow(error: Exception, code: str | None, doing: str, where: str) -> StoreError:
    text = str(error)
    if code == NOT_FOUND:
        return RunNotFoundError(f"{doing}: {_one_line(error)}", where=where)
    if LOCKED.search(text):
        return StoreError(
            f"{doing}: the database is locked by another process",
            where=where,
            hint="Try again when it has finished; several writers at once are what an MLflow server is for",
        )
    if DOWN.search(text):
        return _down(doing, where)
    return StoreError(f"{doing}: {_one_line(error)}", where=where, hint=_advice(text))


def _down(doing: str, where: str) -> StoreDownError:
    return StoreDownError(
        f"{doing}: the store does not answer", where=where, hint="Start it or check --tracking-uri, then `tracker sync`"
    )


def _advice(text: str) -> str | None:
    lowered = text.lower()
    if "401" in text or "403" in text or "permission_denied" in lowered or "unauthenticated" in lowered:
        return "Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"
    if "404" in text or "endpoint_not_found" in lowered:
        return "Check the address; the server must be MLflow 3 or newer"
    if "certificate" in lowered:
        return "Set MLFLOW_TRACKING_SERVER_CERT_PATH to the server's certificate"
    if "full" in lowered:
        return "Free some disk space"
    return None


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."
