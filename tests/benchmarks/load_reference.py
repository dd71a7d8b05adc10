"""Plain aiohttp, the client that all others are compared with: every event decoded and timed, nothing else.

`python load_reference.py URL STREAMS REQUESTS TOKENS`, on asyncio's own loop.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import aiohttp


async def main(url: str, streams: int, requests: int, tokens: int) -> None:
    """Keep the streams busy until all requests are answered."""
    waiting = iter(range(requests))
    params = {"max_new_tokens": tokens, "temperature": 0.0, "ignore_eos": True}
    body = json.dumps({"text": "word " * 16, "sampling_params": params, "stream": True}).encode()
    headers = {"content-type": "application/json"}
    counted = 0

    async def stream(session: aiohttp.ClientSession) -> None:
        nonlocal counted
        for _ in waiting:
            times = []
            async with session.post(f"{url}/generate", data=body, headers=headers) as response:
                response.raise_for_status()
                last = None
                async for line in response.content:
                    if line.startswith(b"data: {"):
                        last = json.loads(line[6:])
                        times.append(time.perf_counter())
            counted += last["meta_info"]["completion_tokens"]

    connector = aiohttp.TCPConnector(limit=streams)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600)) as session:
        await asyncio.gather(*(stream(session) for _ in range(streams)))
    if counted != requests * tokens:
        raise SystemExit(f"{counted} tokens counted of {requests * tokens}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *(int(value) for value in sys.argv[2:5])))
