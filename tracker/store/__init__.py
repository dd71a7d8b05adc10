"""Where records live: spool first, then MLflow."""

from __future__ import annotations

from tracker.store.base import Query, ReportRun, RunStore, StoredReport
from tracker.store.memory import MemoryStore
from tracker.store.mlflow_open import ResolvedUri, open_store, resolve_uri
from tracker.store.spool import Spool
from tracker.store.spooled_campaigns import pending_campaigns, put_campaign, send_campaign
from tracker.store.sync import Logged, SyncOutcome, log, log_many, sync

__all__ = [
    "Logged",
    "MemoryStore",
    "Query",
    "ReportRun",
    "ResolvedUri",
    "RunStore",
    "Spool",
    "StoredReport",
    "SyncOutcome",
    "log",
    "log_many",
    "open_store",
    "pending_campaigns",
    "put_campaign",
    "resolve_uri",
    "send_campaign",
    "sync",
]
