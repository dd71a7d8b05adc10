"""Which store is meant, and an MLflow client for it that stays quiet and gives up in seconds."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from tracker.errors import StoreError
from tracker.store.failures import StoreDownError
from tracker.store.mlflow_errors import store_errors
from tracker.store.mlflow_network import proxy_advice, proxy_of
from tracker.store.mlflow_schema import prepare_sqlite

if TYPE_CHECKING:
    from tracker.store.mlflow_store import MlflowStore

URI_VARIABLES = ("TRACKER_TRACKING_URI", "MLFLOW_TRACKING_URI")
DATABASE_NAME = "mlflow.db"
ARTIFACT_FOLDER = "artifacts"
DATABASES = ("postgres", "postgresql", "mysql", "mariadb", "mssql", "oracle")
IN_MEMORY = ":memory:"
USABLE = (
    "Use http://HOST:PORT of an MLflow server or sqlite:////ABSOLUTE/PATH.db; a folder of MLflow's old file store "
    "moves with `mlflow migrate-filestore`"
)
MISSING = "pip install 'mlflow>=3.17,<4'; what waits in the spool is sent by `tracker sync`, here or where MLflow is"
CONNECT_SECONDS = 4.0
FIRST_ANSWER_SECONDS = 10.0
HEALTH = "/health"
# After these a POST goes on as a GET without its content, and MLflow complains of parameters that were never wrong.
LOSES_CONTENT = (301, 302, 303)
# MLflow reads its settings from the process environment. What the user has set stays.
MLFLOW_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_CONFIGURE_LOGGING": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    # The defaults wait 246 s for a dead server (measured) and 120 s for a silent one.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}
# Cutting a value with no more than a log line would lose a flag; the error is wanted. Not the user's to choose.
FORCED_SETTINGS = {"MLFLOW_TRUNCATE_LONG_VALUES": "false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedUri:
    """The tracking URI in use and who chose it."""

    uri: str
    """Tracking URI; a SQLite path in it is absolute."""
    source: str
    """`--tracking-uri`, the name of an environment variable, or `default`."""
    is_default: bool = False
    """Whether it is the embedded store that nobody chose; worth telling on first use."""
    exists: bool = True
    """False for an embedded database that the first use will create."""

    @property
    def shown(self) -> str:
        """The URI without its credentials."""
        return without_credentials(self.uri)


def resolve_uri(uri: str | None = None, *, environ: Mapping[str, str], data_dir: Path | None = None) -> ResolvedUri:
    """Return the store that is meant: the explicit one, the environment's, else an embedded SQLite database.

    Args:
        uri: Explicit tracking URI.
        environ: The process environment.
        data_dir: Folder of the embedded database; the user's data folder when None.

    Raises:
        StoreError: A kind of URI that cannot hold runs; says which can.
    """
    if uri:
        return _resolved(uri, "--tracking-uri")
    for name in URI_VARIABLES:
        if environ.get(name):
            return _resolved(environ[name], name)
    # Here, not above: a GPU host that only fills a spool has neither this package nor MLflow.
    import platformdirs

    folder = data_dir or platformdirs.user_data_path("tracker", appauthor=False)
    path = folder.expanduser().absolute() / DATABASE_NAME
    return ResolvedUri(uri=sqlite_uri(path), source="default", is_default=True, exists=_is(path.is_file))


def open_store(
    uri: str | None = None,
    *,
    environ: Mapping[str, str],
    data_dir: Path | None = None,
    cache_dir: Path | None = None,
) -> MlflowStore:
    """Return the store that is meant (see `resolve_uri`). It connects at its first use, not here.

    A store that is down must not keep a run from its spool; so opening never fails for that reason.

    Args:
        uri: Explicit tracking URI.
        environ: The process environment.
        data_dir: Folder of the embedded database; the user's data folder when None.
        cache_dir: Folder for records read before; the user's cache folder when None. Deleting it changes no answer.

    Raises:
        StoreError: A kind of URI that cannot hold runs.
    """
    import platformdirs

    from tracker.store.mlflow_store import MlflowStore

    resolved = resolve_uri(uri, environ=environ, data_dir=data_dir)
    folder = cache_dir or platformdirs.user_cache_path("tracker", appauthor=False) / "records"
    return MlflowStore(resolved.uri, cache_dir=folder)


def sqlite_path(uri: str) -> Path | None:
    """Return the database file of a SQLite URI; None for any other URI."""
    match = re.fullmatch(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?", uri)
    return Path(match[1]) if match else None


def sqlite_uri(path: Path) -> str:
    """Return the URI of a SQLite file given by an absolute path."""
    return f"sqlite:///{path.as_posix()}"


def artifact_root(uri: str) -> Path | None:
    """Return the folder for artifacts beside an embedded database; None where a server chooses."""
    path = sqlite_path(uri)
    return None if path is None else path.parent / ARTIFACT_FOLDER


def is_server(uri: str) -> bool:
    """Return whether the URI is that of a tracking server."""
    return urlsplit(uri).scheme in ("http", "https")


def without_credentials(uri: str) -> str:
    """Return the URI without user name and password."""
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if "@" in parts.netloc else uri


def connect(uri: str) -> Any:
    """Return an `MlflowClient` for the URI, its database created or found suitable.

    Raises:
        StoreDownError: A server that does not answer.
        StoreError: A database that is locked, older, newer, or not MLflow's; MLflow missing, or set to what it cannot
            read.
    """
    configure_mlflow(os.environ)
    with quiet():
        try:
            from mlflow import MlflowClient
        except ModuleNotFoundError as error:
            raise StoreError(f"MLflow cannot be imported here: {error.msg}", where=sys.prefix, hint=MISSING) from error
        _require_readable_settings(os.environ)
        # They tell of every retry, and of every refusal with its traceback; what comes of them is told in words.
        logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
        with store_errors("the store could not be opened", where=without_credentials(uri)):
            if is_server(uri):
                _require_answer(uri)
            elif (path := sqlite_path(uri)) is not None:
                prepare_sqlite(path, artifact_root=path.parent / ARTIFACT_FOLDER)
            return MlflowClient(tracking_uri=uri)


def configure_mlflow(environ: MutableMapping[str, str]) -> None:
    """Make MLflow quiet, quick to give up, and unwilling to cut values. Must run before its import."""
    for name, value in MLFLOW_SETTINGS.items():
        environ.setdefault(name, value)
    environ.update(FORCED_SETTINGS)


def _require_readable_settings(environ: Mapping[str, str]) -> None:
    """Refuse a setting that MLflow cannot read: it would end the first call that looks at it with a traceback.

    Raises:
        StoreError: Names the variable.
    """
    from mlflow import environment_variables

    for name in sorted(name for name in environ if name.startswith("MLFLOW_")):
        setting = getattr(environment_variables, name, None)
        if setting is None:
            continue
        try:
            setting.get()
        except ValueError as error:
            raise StoreError(
                "MLflow cannot read the value of this variable",
                where=name,
                hint=f"Unset {name}, or give it a number, or true or false, as MLflow's documentation says",
            ) from error


def quiet() -> warnings.catch_warnings[None]:
    """Return a context in which MLflow's own dependencies may warn unheard; they concern MLflow's developers."""
    return warnings.catch_warnings(action="ignore")


def _require_answer(uri: str) -> None:
    """Find out within seconds that nobody answers; MLflow would wait its request time-out for every retry.

    Raises:
        StoreDownError: No connection.
        StoreError: It answers from another address.
    """
    import httpx

    where = without_credentials(uri)
    try:
        patience = httpx.Timeout(FIRST_ANSWER_SECONDS, connect=CONNECT_SECONDS)
        answer = httpx.get(f"{uri.rstrip('/')}{HEALTH}", timeout=patience, follow_redirects=True)
    except (httpx.ConnectError, httpx.TimeoutException) as error:
        if "SSL" in str(error).upper():
            return  # TLS settings of MLflow's own (MLFLOW_TRACKING_INSECURE_TLS, ..._SERVER_CERT_PATH) decide
        advice = "Start it or check --tracking-uri"
        if proxy_of(uri) is not None:
            advice += f". {proxy_advice(where)}"
        raise StoreDownError(
            f"the MLflow server does not answer: {str(error) or type(error).__name__}",
            where=where,
            hint=f"{advice}; what is logged meanwhile waits in the spool for `tracker sync`",
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL):
        return  # it answers, or MLflow itself will say what is wrong
    target = str(answer.url)
    if target.endswith(HEALTH) and any(step.status_code in LOSES_CONTENT for step in answer.history):
        there = without_credentials(target.removesuffix(HEALTH))
        raise StoreError(f"the address redirects to {there}", where=where, hint=f"Name {there} in its place")


def _resolved(uri: str, source: str) -> ResolvedUri:
    shown, scheme = _parts(uri, source)
    path = sqlite_path(uri)
    if path is not None and path.name != IN_MEMORY:
        path = path.expanduser().absolute()
        if not _is(path.is_dir):
            return ResolvedUri(uri=sqlite_uri(path), source=source, exists=_is(path.is_file))
    elif is_server(uri) and urlsplit(uri).hostname:
        return ResolvedUri(uri=uri.rstrip("/"), source=source)
    if scheme.partition("+")[0] in DATABASES:
        # MLflow would put the artifacts, and with them every record, into a folder of whoever logs.
        raise StoreError(
            f"{shown!r} is a database, and has no place for artifacts",
            where=source,
            hint="Start `mlflow server --backend-store-uri` on it and name the server's http:// address",
        )
    raise StoreError(f"{shown!r} is no store that tracker can use", where=source, hint=USABLE)


def _parts(uri: str, source: str) -> tuple[str, str]:
    """Return an address without its credentials, and its scheme.

    Raises:
        StoreError: It cannot be read; does not repeat it, as a password may be what makes it so.
    """
    try:
        parts = urlsplit(uri)
        _ = parts.port
        return without_credentials(uri), parts.scheme
    except ValueError as error:
        raise StoreError("the address of the store cannot be read", where=source, hint=USABLE) from error


def _is(ask: Callable[[], bool]) -> bool:
    """Return what a path says of itself; False in a folder closed to this user, which the first use tells."""
    try:
        return ask()
    except OSError:
        return False
