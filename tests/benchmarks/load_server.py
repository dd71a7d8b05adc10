"""An engine that costs next to nothing, for measuring clients: frames made once, one timer an open answer.

`python load_server.py FOLDER CHUNKS DELAY_MS` serves on a free port, writes it to FOLDER/port, and keeps what it did in
FOLDER/done (see `Done`). It speaks SGLang's /generate and the OpenAI completion routes, streamed or not; every answer
has CHUNKS one-token chunks DELAY_MS apart, on an absolute schedule, one write a chunk.
"""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MAX_REQUESTS = 200_000
_HEAD = struct.Struct("=QQQd")
_TIME = struct.Struct("=d")


class Done:
    """What the server did, in a mapped file that another process reads: counts, last write, start of each request."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Map the file; with `create`, make it first."""
        size = _HEAD.size + _TIME.size * MAX_REQUESTS
        if create:
            path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), size)
        self.requests = self.answered = self.chunks = 0

    def started(self) -> None:
        """Note that a request for an answer came in."""
        if self.requests < MAX_REQUESTS:
            _TIME.pack_into(self._map, _HEAD.size + _TIME.size * self.requests, time.monotonic())
        self.requests += 1

    def wrote(self, chunks: int, *, last: bool) -> None:
        """Note chunks that were written."""
        self.chunks += chunks
        self.answered += last
        _HEAD.pack_into(self._map, 0, self.requests, self.answered, self.chunks, time.monotonic())

    def read(self) -> tuple[int, int, int, float]:
        """Return requests, answers, chunks, and when the last chunk was written, on the monotonic clock."""
        return _HEAD.unpack_from(self._map)

    def start_s(self, request: int) -> float:
        """Return when a request came in, counted from 0, on the monotonic clock."""
        return float(_TIME.unpack_from(self._map, _HEAD.size + _TIME.size * request)[0])


def _chunk(event: dict[str, object] | str) -> bytes:
    data = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
    return b"%x\r\n" % len(data) + data + b"\r\n"


def _meta(tokens: int, *, ended: bool) -> dict[str, object]:
    finish = {"type": "length", "length": tokens} if ended else None
    return {"id": "0" * 32, "finish_reason": finish, "prompt_tokens": 16, "weight_version": "default",
            "completion_tokens": tokens, "cached_tokens": 0, "e2e_latency": 0.1}  # fmt: skip


def _generate(chunks: int) -> Iterator[bytes]:
    for count in range(1, chunks + 1):
        yield _chunk(
            {"text": " word" * count, "output_ids": [7] * count, "meta_info": _meta(count, ended=count == chunks)}
        )


_TEXT_HEAD = {"id": "cmpl-0", "object": "text_completion", "created": 1, "model": "mock"}
_CHAT_HEAD = {**_TEXT_HEAD, "object": "chat.completion.chunk"}


def _openai(chunks: int, *, chat: bool) -> Iterator[bytes]:
    for count in range(1, chunks + 1):
        part: dict[str, object] = {"delta": {"content": " word"}} if chat else {"text": " word"}
        choice = {"index": 0, **part, "logprobs": None, "finish_reason": "length" if count == chunks else None}
        yield _chunk({**_CHAT_HEAD, "choices": [choice]} if chat else {**_TEXT_HEAD, "choices": [choice]})


def _frames(path: str, chunks: int) -> list[bytes]:
    """Return the writes of one streamed answer: the head goes before the first, the end after the last."""
    usage = {"prompt_tokens": 16, "completion_tokens": chunks, "total_tokens": 16 + chunks}
    if path == "/generate":
        frames = list(_generate(chunks))
    else:
        chat = path.endswith("/chat/completions")
        frames = list(_openai(chunks, chat=chat))
        frames[-1] += _chunk({**(_CHAT_HEAD if chat else _TEXT_HEAD), "choices": [], "usage": usage})
    frames[0] = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
        + frames[0]
    )
    frames[-1] += _chunk("[DONE]") + b"0\r\n\r\n"
    return frames


def _whole(path: str, chunks: int) -> bytes:
    """Return one answer that is not streamed."""
    usage = {"prompt_tokens": 16, "completion_tokens": chunks, "total_tokens": 16 + chunks}
    text = " word" * chunks
    if path == "/generate":
        return _reply({"text": text, "output_ids": [7] * chunks, "meta_info": _meta(chunks, ended=True)})
    part = {"message": {"content": text}} if path.endswith("/chat/completions") else {"text": text}
    return _reply({"choices": [{**part, "finish_reason": "length"}], "usage": usage})


def _reply(content: object, status: int = 200) -> bytes:
    body = json.dumps(content).encode()
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(body)) + body


_ANSWERS = ("/generate", "/v1/completions", "/v1/chat/completions")
_PAGES = {
    "/health": {}, "/flush_cache": {}, "/model_info": {"model_path": "mock", "is_generation": True},
    "/get_model_info": {"model_path": "mock", "is_generation": True},
    "/v1/models": {"object": "list", "data": [{"id": "mock", "object": "model"}]},
    "/server_info": {"model_path": "mock", "version": "0.0.0+mock", "internal_states": [{}]},
    "/get_server_info": {"model_path": "mock", "version": "0.0.0+mock", "internal_states": [{}]},
}  # fmt: skip


class Engine:
    """What all connections share."""

    def __init__(self, folder: Path, chunks: int, delay_s: float) -> None:
        """Make every frame once."""
        self.done = Done(folder / "done", create=True)
        self.delay_s, self.chunks = delay_s, chunks
        self.frames = {path: _frames(path, chunks) for path in _ANSWERS}
        self.wholes = {path: _whole(path, chunks) for path in _ANSWERS}
        self.pages = {path: _reply(content) for path, content in _PAGES.items()}
        self.missing = _reply({"error": "not found"}, 404)


class Connection(asyncio.Protocol):
    """One connection; its requests come one after the other."""

    def __init__(self, engine: Engine) -> None:
        """Serve this engine."""
        self.engine, self.buffer, self.loop = engine, b"", asyncio.get_running_loop()
        self.timer: asyncio.TimerHandle | None = None
        self.write: Callable[[bytes], None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.write = transport.write

    def connection_lost(self, exc: Exception | None) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer once the request is whole."""
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        lower = head.lower()
        at = lower.find(b"content-length:")
        length = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(body) < length:
            return
        self.buffer = body[length:]
        self.answer(head.split(b" ", 2)[1].decode().partition("?")[0], body[:length])

    def answer(self, path: str, body: bytes) -> None:
        """Write a page at once, an answer over its time."""
        engine = self.engine
        if path not in engine.frames:
            self.write(engine.pages.get(path, engine.missing))
            return
        engine.done.started()
        now = self.loop.time()
        if b'"stream":true' in body or b'"stream": true' in body:
            self.timer = self.loop.call_at(now + engine.delay_s, self.step, engine.frames[path], 0, now)
        else:
            self.timer = self.loop.call_at(now + engine.delay_s * engine.chunks, self.whole, engine.wholes[path])

    def whole(self, content: bytes) -> None:
        """Write an answer that is not streamed."""
        self.timer = None
        self.engine.done.wrote(self.engine.chunks, last=True)
        self.write(content)

    def step(self, frames: list[bytes], index: int, begun: float) -> None:
        """Write one chunk, and plan the next."""
        last = index + 1 == len(frames)
        self.timer = None
        if not last:
            due = begun + (index + 2) * self.engine.delay_s
            self.timer = self.loop.call_at(due, self.step, frames, index + 1, begun)
        self.engine.done.wrote(1, last=last)
        self.write(frames[index])


async def serve(folder: Path, chunks: int, delay_ms: float) -> None:
    """Serve until killed."""
    engine = Engine(folder, chunks, delay_ms / 1000)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(engine), "127.0.0.1", 0, backlog=4096)
    port = folder / "port.part"
    port.write_text(str(server.sockets[0].getsockname()[1]))
    port.rename(folder / "port")
    # Ends with whoever started it, should that be killed.
    parent = os.getppid()
    while os.getppid() == parent:
        await asyncio.sleep(1)


if __name__ == "__main__":
    try:
        from uvloop import run
    except ImportError:
        from asyncio import run
    run(serve(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
