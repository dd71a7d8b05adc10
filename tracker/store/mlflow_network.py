"""Why a server cannot be reached: a certificate nobody trusts, or a proxy in between."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tracker.store.failures import StoreDownError

UNTRUSTED = re.compile(r"certificate verify failed|CERTIFICATE_VERIFY_FAILED", re.IGNORECASE)
REASON = re.compile(r"certificate verify failed: ([^(\[]+?)\.? *\(", re.IGNORECASE)
NO_TLS = re.compile(r"WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE", re.IGNORECASE)
PROXY = re.compile(r"ProxyError|Tunnel connection failed|connect to proxy", re.IGNORECASE)
REFUSED = re.compile(r"Tunnel connection failed: (\d{3}[^'\")]*)", re.IGNORECASE)


def network_error(text: str, doing: str, where: str) -> StoreDownError | None:
    """Return the error for what the network layer said; None where it says nothing of certificates and proxies.

    Nothing reaches a store that is not trusted, so that it is as good as down.
    """
    if UNTRUSTED.search(text):
        reason = REASON.search(text)
        return StoreDownError(
            f"{doing}: the server's certificate is not trusted{f' ({reason[1]})' if reason else ''}",
            where=where,
            hint="Set MLFLOW_TRACKING_SERVER_CERT_PATH (or REQUESTS_CA_BUNDLE) to a file with the certificate of the "
            "authority that signed it; MLFLOW_TRACKING_INSECURE_TLS=true goes without any check",
        )
    if NO_TLS.search(text):
        return StoreDownError(f"{doing}: the server does not speak TLS", where=where, hint="Use http:// in its address")
    if PROXY.search(text):
        answer = REFUSED.search(text)
        said = f"the proxy answers {answer[1].strip()}" if answer else "the proxy does not answer"
        return StoreDownError(f"{doing}: {said}", where=where, hint=proxy_advice(where))
    return None


def proxy_of(uri: str) -> str | None:
    """Return the environment's proxy for an address, without credentials; None where it is reached directly."""
    from requests.utils import get_environ_proxies, select_proxy  # what MLflow's own requests follow

    proxy = select_proxy(uri, get_environ_proxies(uri))
    return None if proxy is None else re.sub(r"(?<=://)[^/@]*@", "", str(proxy))


def proxy_advice(uri: str) -> str:
    """Return what to do where a proxy stands in the way."""
    host = urlsplit(uri).hostname or "the host"
    return (
        f"The environment sends it through {proxy_of(uri) or 'a proxy'} (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY); correct "
        f"that, or add {host} to NO_PROXY"
    )
