"""MLflow's exceptions, and those of what it is built on, as StoreError: what, where, what next."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from tracker.errors import RunNotFoundError, StoreError
from tracker.store.failures import ContendedError, StoreDownError
from tracker.store.mlflow_network import network_error

DOWN = re.compile(
    r"Max retries exceeded|failed with exception|Connection refused|timed out|could not connect|connection failed|"
    r"server closed the connection",
    re.IGNORECASE,
)
READ_ONLY = re.compile(r"readonly database|read-only (transaction|file system)|unable to open database", re.IGNORECASE)
LOCKED = re.compile(r"database (table )?is locked", re.IGNORECASE)
# Two writers made the same data set; one deleted the copy the other was still writing; a database broke a tie.
CONTENDED = re.compile(
    r"UNIQUE constraint failed|duplicate key value|Duplicate entry|Current state is deleted|deadlock", re.IGNORECASE
)
UNKNOWN_USER = re.compile(r"error code 401\b|\b401 Client Error|UNAUTHENTICATED")
FORBIDDEN = re.compile(r"error code 403\b|\b403 Client Error|PERMISSION_DENIED")
# An address with a password in it, or a gateway's page that repeats what was sent.
CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@|\b(?:Bearer|Basic) [\w.~+/=:-]+")
ANSWERED = re.compile(r"\s*Response (?:body|text): .*", re.DOTALL)
PAGE = re.compile(r"\s*Response (?:body|text): ['\"]?\s*<.*", re.DOTALL)
GAVE_UP = re.compile(r"too many (\d{3}) error responses")
STATUS = re.compile(r"error code (\d{3})\b|\b(\d{3}) (?:Client|Server) Error")
NO_SUCH_PAGE = re.compile(r"error code (404|501)\b|\b404 Client Error|ENDPOINT_NOT_FOUND")
SQL_DETAILS = re.compile(r"\s*\[SQL:.*", re.DOTALL)
# Answers that come from what stands before the server; a POST that is redirected arrives as a GET.
BEFORE_THE_SERVER = {
    **dict.fromkeys(
        (301, 302, 303, 307, 308, 405),
        "Name the address that this one redirects to, often https://; if that is a page to sign in at, set credentials",
    ),
    407: "Put the proxy's user and password into HTTP_PROXY or HTTPS_PROXY, or the host into NO_PROXY",
    413: "Let the proxy before the server take larger files (nginx: client_max_body_size)",
}
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
        ContendedError: Another process wrote the same thing at the same moment.
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
        raise network_error(str(error), doing, where) or _down(doing, where) from error
    except requests.RequestException as error:
        raise _from_mlflow(error, None, doing, where) from error
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
    if UNKNOWN_USER.search(text):
        # The rest of MLflow's words is the server's page, which may repeat what was sent.
        return StoreError(f"{doing}: the server refuses the credentials (401)", where=where, hint=_advice(text))
    if code == NOT_FOUND:
        return RunNotFoundError(f"{doing}: {_one_line(error)}", where=where)
    if (network := network_error(text, doing, where)) is not None:
        return network
    if LOCKED.search(text):
        return StoreError(
            f"{doing}: the database is locked by another process",
            where=where,
            hint="Try again when it has finished; several writers at once are what an MLflow server is for",
        )
    if CONTENDED.search(text):
        return ContendedError(f"{doing}: {_one_line(error)}", where=where, hint="Another process was faster; try again")
    if (answer := GAVE_UP.search(text)) is not None:
        return StoreDownError(
            f"{doing}: the server answers {answer[1]}, also when asked again",
            where=where,
            hint="Its log, or that of the proxy before it, says why; run `tracker sync` when it is well",
        )
    if DOWN.search(text):
        return _down(doing, where)
    return StoreError(f"{doing}: {_one_line(error)}", where=where, hint=_advice(text))


def _down(doing: str, where: str) -> StoreDownError:
    return StoreDownError(
        f"{doing}: the store does not answer", where=where, hint="Start it or check --tracking-uri, then `tracker sync`"
    )


def _advice(text: str) -> str | None:
    if UNKNOWN_USER.search(text):
        return (
            "Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN; where they are set, "
            "they are wrong (user and password go first)"
        )
    if FORBIDDEN.search(text):
        return (
            "Use credentials that may do this (MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
            "MLFLOW_TRACKING_TOKEN), log into a campaign of your own, or ask whoever runs the server"
        )
    if NO_SUCH_PAGE.search(text):
        return "Check the address; the server must be MLflow 3 or newer"
    if (answer := STATUS.search(text)) is not None and (status := int(answer[1] or answer[2])) in BEFORE_THE_SERVER:
        return BEFORE_THE_SERVER[status]
    if "disk is full" in text.lower():
        return "Free some disk space"
    if READ_ONLY.search(text):
        return "Make the database's file and its folder writable for this user, or name another store"
    return None


def _one_line(error: Exception) -> str:
    text = str(error)
    text = (ANSWERED if FORBIDDEN.search(text) else PAGE).sub("", text)
    text = CREDENTIALS.sub("", " ".join(SQL_DETAILS.sub("", text).split()))
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."
