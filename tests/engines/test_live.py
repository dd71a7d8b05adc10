"""Live servers: real HTTP on loopback, recorded and made-up bodies, and every way to fail."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tracker import engines
from tracker.domain.server import Speculation
from tracker.errors import ServerError

Page = tuple[int, str, bytes] | Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(pages: dict[str, Page]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path, pages.get("*", (404, "text/plain", b"no such page")))
            if callable(page):
                page(self)
                return
            status, content_type, body = page
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            if 300 <= status < 400:
                self.send_header("Location", "https://user:S3CRETpw@login.example/x")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _json(body: object) -> Page:
    return 200, "application/json", json.dumps(body).encode()


SGLANG = {
    "model_path": "m",
    "tp_size": 8,
    "speculative_algorithm": None,
    "api_key": "S3CRET-key-1",
    "version": "0.5.23",
    "internal_states": [{}],
}


def test_a_recorded_server_is_read_with_all_its_pages(shared_data: Path) -> None:
    folder = shared_data / "h200-tiny-llama" / "eagle-wrong-flag-d100000-3-1-4"
    pages: dict[str, Page] = {
        "/server_info": (200, "application/json", (folder / "server_info.json").read_bytes()),
        "/model_info": (200, "application/json", (folder / "model_info.json").read_bytes()),
        "/v1/models": (200, "application/json", (folder.parent / "endpoints" / "eagle3.models.json").read_bytes()),
        "/metrics": (200, "text/plain", (folder / "metrics.prom").read_bytes()),
    }
    with serving(pages) as url:
        live = engines.fetch(url + "/v1/")

    assert live.model_path == "tiny/target"
    assert live.config.version == "0.5.17"
    assert sorted(live.bodies) == ["metrics.prom", "model_info.json", "models.json", "server_info.json"]
    assert live.bodies["server_info.json"] == (folder / "server_info.json").read_bytes()
    found = engines.speculation(live.config)
    assert found is not None
    assert found.algorithm == "EAGLE"


def test_a_key_is_sent_to_a_server_that_asks_for_one() -> None:
    def page(handler: BaseHTTPRequestHandler) -> None:
        known = handler.headers.get("Authorization") == "Bearer K3Y"
        body = json.dumps(SGLANG).encode() if known else b""
        handler.send_response(200 if known else 401)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with serving({"/server_info": page}) as url:
        assert engines.fetch(url, api_key="K3Y").config.version == "0.5.23"
        with pytest.raises(ServerError, match="refuses access"):
            engines.fetch(url)


def test_an_older_server_answers_under_the_older_names(shared_data: Path) -> None:
    endpoints = shared_data / "h200-tiny-llama" / "endpoints"
    pages: dict[str, Page] = {
        "/get_server_info": (200, "application/json", (endpoints / "base.get_server_info.json").read_bytes()),
        "/get_model_info": _json({"model_path": "tiny/target"}),
    }
    with serving(pages) as url:
        live = engines.fetch(url.removeprefix("http://"))

    assert engines.speculation(live.config) == Speculation(enabled=False)
    assert sorted(live.bodies) == ["model_info.json", "server_info.json"]


def test_keys_are_gone_from_what_a_live_server_says() -> None:
    with serving({"/server_info": _json(SGLANG), "/metrics": (500, "text/plain", b"broken")}) as url:
        live = engines.fetch(url)

    assert b"S3CRET" not in b"".join(live.bodies.values())
    assert "S3CRET" not in repr(live.config)
    assert live.model_path == "m"
    assert list(live.bodies) == ["server_info.json"]


def test_a_vllm_server_gives_version_and_model_and_no_invented_flags() -> None:
    pages = {
        "/v1/models": _json({"object": "list", "data": [{"id": "m", "root": "org/m", "owned_by": "vllm"}]}),
        "/version": _json({"version": "0.11.0"}),
        "/metrics": (200, "text/plain", b"vllm:num_requests_running 0\n"),
    }
    with serving(pages) as url:
        live = engines.fetch(url)

    assert live.config.engine == "vllm"
    assert live.config.version == "0.11.0"
    assert live.model_path == "org/m"
    assert live.config.arguments == {}
    assert engines.speculation(live.config) is None


def test_a_vllm_server_in_development_mode_gives_its_configuration() -> None:
    config = {"speculative_config": {"method": "eagle3", "num_speculative_tokens": 2}, "model": "m"}
    pages = {
        "/version": _json({"version": "0.11.0"}),
        "/v1/models": _json({"data": [{"id": "m", "owned_by": "vllm"}]}),
        "/server_info?config_format=json": _json({"vllm_config": config, "vllm_env": {"VLLM_USE_V1": 1}}),
        "/server_info": _json({"vllm_config": "model='m'"}),
    }
    with serving(pages) as url:
        live = engines.fetch(url)

    found = engines.speculation(live.config)
    assert found is not None
    assert found.num_steps == 2
    assert live.config.version == "0.11.0"
    assert live.config.environment == {"VLLM_USE_V1": "1"}


def test_a_llama_server_describes_itself_in_props() -> None:
    pages = {
        "/props": _json({"default_generation_settings": {"n_ctx": 8192}, "model_path": "m.gguf", "total_slots": 4})
    }
    with serving(pages) as url:
        live = engines.fetch(url)

    assert live.config.engine == "llama.cpp"
    assert live.config.arguments == {"model": "m.gguf", "parallel": 4, "context_length": 8192}


def _drip(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        try:
            handler.wfile.write(b" ")
            handler.wfile.flush()
        except OSError:
            return
        time.sleep(0.05)


def _hang(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(0.6)


def _cut(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"{")


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ((500, "text/plain", b"oops"), "HTTP 500"),
        ((503, "text/plain", b"loading"), "HTTP 503"),
        ((401, "text/plain", b"who"), "refuses access"),
        ((302, "text/plain", b""), "redirects to https"),
        ((200, "text/html", b"<html>hello</html>"), "HTML page"),
        ((200, "text/plain", b"hello"), "not JSON"),
        ((200, "application/json", b"[" * 100_000), "not JSON"),
        ((200, "application/json", b"[1]"), "JSON list"),
        (_hang, "does not answer in time"),
        (_drip, "does not end"),
        (_cut, "breaks off"),
    ],
)
def test_a_server_that_answers_nonsense_is_one_clear_error(page: Page, message: str) -> None:
    with serving({"*": page}) as url, pytest.raises(ServerError, match=message) as caught:
        engines.fetch(url, timeout_s=0.3)

    assert caught.value.where == f"{url}/server_info"
    assert caught.value.hint
    assert "S3CRET" not in str(caught.value)


def test_a_server_with_none_of_the_known_pages_is_unknown() -> None:
    with serving({}) as url, pytest.raises(ServerError, match="no inference server that is known"):
        engines.fetch(url)


def test_a_port_where_nothing_listens_is_said_at_once_with_a_way_on() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    started = time.monotonic()

    with pytest.raises(ServerError, match="nothing answers there") as caught:
        engines.fetch(f"http://user:S3CRETpw@127.0.0.1:{port}")

    assert "--server-info" in str(caught.value)
    assert "S3CRET" not in str(caught.value)
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://", "http://[bad", "http://exa mple"])
def test_something_that_is_no_address_is_said_so(url: str) -> None:
    with pytest.raises(ServerError) as caught:
        engines.fetch(url, timeout_s=0.3)

    assert caught.value.hint


def _dripped(start: bytes, drop: bytes) -> Page:
    def page(handler: BaseHTTPRequestHandler) -> None:
        with contextlib.suppress(OSError):
            handler.wfile.write(start)
            while True:
                handler.wfile.write(drop)
                handler.wfile.flush()
                time.sleep(0.05)

    return page


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.0 200 OK\r\n\r\n", b" "),
    ],
)
def test_a_server_that_drips_its_answer_is_cut_off(start: bytes, drop: bytes) -> None:
    began = time.monotonic()

    with serving({"*": _dripped(start, drop)}) as url, pytest.raises(ServerError, match="does not end"):
        engines.fetch(url, timeout_s=0.3)

    assert time.monotonic() - began < 5


def test_an_answer_packed_twice_is_not_unpacked() -> None:
    def page(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip, gzip")
        handler.end_headers()
        handler.wfile.write(gzip.compress(gzip.compress(bytes(2**26))))

    with serving({"*": page}) as url, pytest.raises(ServerError, match="packs its answer"):
        engines.fetch(url)


def test_what_a_server_says_cannot_steer_a_terminal_or_show_a_key() -> None:
    def page(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 500 \x1b[2J hf_AbCdEfGhIjKlMnOpQrStUvWx\r\nContent-Length: 0\r\n\r\n")

    with serving({"*": page}) as url, pytest.raises(ServerError) as caught:
        engines.fetch(url)

    assert str(caught.value).isprintable()
    assert "hf_Ab" not in str(caught.value)


@pytest.mark.parametrize("states", [5, True, "x", {"a": 1}, [[1]], None])
def test_states_of_the_wrong_kind_and_deep_descriptions_are_no_crash(states: object) -> None:
    deep: object = 1
    for _ in range(400):
        deep = {"a": deep}

    with serving({"/server_info": _json({**SGLANG, "internal_states": states, "deep": deep})}) as url:
        assert engines.for_record(engines.fetch(url).config).engine == "sglang"


def test_a_host_name_longer_than_any_is_no_address() -> None:
    with pytest.raises(ServerError, match="not an address"):
        engines.fetch("http://" + "a" * 5000)
