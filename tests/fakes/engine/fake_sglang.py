"""A fake SGLang over real sockets: its endpoints, its counts, its delays, and its failures on demand.

Answers are a pure function of the prompt, so that a test can compute what must be counted. What a server does wrong is
chosen by variables:

    FAKE_FAIL_START   crash | oom | hang | port     how it fails to come up
    FAKE_START_S      seconds until it serves
    FAKE_STEP_MS      milliseconds per verify step, one stream or many
    FAKE_MODE         what /generate does wrong: refuse, reset, http500, malformed, half_char, wrong_usage, abort,
                      slow, crash, hang, no_meta, cut (a stream without its end),
                      foreign (somebody else's tokens counted); comma-separated `mode:every` for every n-th request
    FAKE_IGNORE_TERM  1: only SIGKILL ends it

SGLANG_SIMULATE_ACC_LEN forces the accept length, as it does in SGLang.
"""

import asyncio
import hashlib
import json
import os
import signal
import sys
import time


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Fake:
    def __init__(self, argv):
        self.argv = argv
        self.host, self.port = self.flag("--host", "127.0.0.1"), int(self.flag("--port", "30000"))
        self.algorithm = self.flag("--speculative-algorithm")
        self.num_steps = int(self.flag("--speculative-num-steps", "3"))
        self.step_s = float(os.environ.get("FAKE_STEP_MS", "1")) / 1000
        self.forced = float(os.environ.get("SGLANG_SIMULATE_ACC_LEN", "-1"))
        self.modes = [item.partition(":")[::2] for item in os.environ.get("FAKE_MODE", "").split(",") if item]
        self.requests = self.output_tokens = self.flushes = 0
        self.running = 0

    def flag(self, name, default=None):
        return self.argv[self.argv.index(name) + 1] if name in self.argv else default

    async def serve(self):
        server = await asyncio.start_server(self.connection, self.host, self.port)
        say(f"server_args=ServerArgs(model_path={self.flag('--model-path')!r})")
        say("The server is fired up and ready to roll!")
        async with server:
            await server.serve_forever()

    async def connection(self, reader, writer):
        try:
            while await self.request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def request(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if path == "/generate":
            return await self.generate(json.loads(body), writer)
        if path in ("/v1/completions", "/v1/chat/completions"):
            return await self.openai(json.loads(body), writer)
        status, content = self.page(method, path)
        await self.reply(writer, status, content)
        return True

    def page(self, method, path):
        pages = {
            "/health": lambda: b"",
            "/server_info": lambda: json.dumps(self.info()).encode(),
            "/model_info": lambda: json.dumps(
                {"model_path": self.flag("--model-path"), "is_generation": True}
            ).encode(),
            "/v1/models": lambda: json.dumps({"object": "list", "data": [{"id": "fake"}]}).encode(),
            "/metrics": self.metrics,
            "/flush_cache": self.flush,
        }
        return (200, pages[path]()) if path in pages else (404, b"not found")

    def flush(self):
        self.flushes += 1
        return b"Cache flushed."

    def info(self):
        speculative = {
            "speculative_algorithm": self.algorithm,
            "speculative_draft_model_path": self.flag("--speculative-draft-model-path"),
            "speculative_num_steps": self.num_steps if self.algorithm else None,
            "speculative_eagle_topk": int(self.flag("--speculative-eagle-topk", "1")) if self.algorithm else None,
            "speculative_num_draft_tokens": (
                int(self.flag("--speculative-num-draft-tokens", "4")) if self.algorithm else None
            ),
        }
        return {
            "model_path": self.flag("--model-path"), "tokenizer_path": self.flag("--model-path"), "tp_size": 1,
            "version": "0.0.0+fake", "disable_cuda_graph": "--disable-cuda-graph" in self.argv,
            "internal_states": [{}], **speculative,
        }  # fmt: skip

    def metrics(self):
        return (
            "# TYPE sglang:generation_tokens_total counter\n"
            f'sglang:generation_tokens_total{{model_name="fake"}} {float(self.output_tokens)}\n'
            f'sglang:num_requests_total{{model_name="fake"}} {float(self.requests)}\n'
        ).encode()

    def answer(self, text, limit):
        """Return meta_info: one token from the prefill, then verify steps that accept 0 .. num_steps drafts."""
        seed = int(hashlib.sha256(text.encode()).hexdigest(), 16)
        info = {"prompt_tokens": len(text.split()), "cached_tokens": 0, "completion_tokens": limit,
                "finish_reason": {"type": "length", "length": limit}}  # fmt: skip
        if not self.algorithm:
            return info, limit
        histogram = [0] * (self.num_steps + 1)
        tokens, index = 1, 0
        while tokens < limit:
            wanted = (seed >> (index % 200)) % (self.num_steps + 1)
            if self.forced > 0:  # match-expected: whole lengths around the one asked for, so that the mean is exact
                length = max(1.0, min(self.num_steps + 1.0, self.forced))
                wanted = int((index + 1) * length) - int(index * length) - 1
            accepted = min(wanted, limit - tokens - 1)
            histogram[accepted] += 1
            tokens += accepted + 1
            index += 1
        accepted = sum(number * count for number, count in enumerate(histogram))
        info |= {"spec_verify_ct": index, "spec_num_correct_drafts": accepted,
                 "spec_num_proposed_drafts": index * self.num_steps,
                 "spec_correct_drafts_histogram": histogram}  # fmt: skip
        return info, index + 1

    def mode(self):
        for name, every in self.modes:
            if self.requests % int(every or 1) == 0:
                return name
        return None

    async def generate(self, asked, writer):
        self.requests += 1
        mode = self.mode()
        if mode == "crash":
            say("RuntimeError: the scheduler died")
            os._exit(3)
        if mode == "foreign":
            self.output_tokens += 1000
        if mode == "refuse":
            writer.transport.abort()
            return False
        if mode == "http500":
            await self.reply(writer, 500, b'{"error": {"message": "internal"}}')
            return True
        limit = asked["sampling_params"]["max_new_tokens"]
        # One of the two must be there, as in SGLang.
        text = asked["text"] if "text" in asked else " ".join(str(token) for token in asked["input_ids"])
        info, steps = self.answer(text, limit)
        started = time.perf_counter()
        if asked.get("stream"):
            return await self.stream(info, steps, mode, writer)
        await asyncio.sleep(3600 if mode == "hang" else 2.0 if mode == "slow" else steps * self.step_s)
        info["e2e_latency"] = time.perf_counter() - started
        self.output_tokens += limit
        await self.finish(info, mode, writer)
        return mode != "reset"

    async def finish(self, info, mode, writer):
        if mode == "wrong_usage":
            info["completion_tokens"] *= 7
        if mode == "abort":
            info["finish_reason"] = {"type": "abort", "message": "retracted"}
        body = json.dumps({"text": "ä" * 10, "meta_info": info}, ensure_ascii=False).encode()
        if mode == "no_meta":
            body = b'{"text": "x"}'
        if mode == "malformed":
            body = b'{"text": "x", "meta_info": {'
        if mode == "half_char":
            body = b'{"text": "\xc3", "meta_info": {}}'
        if mode == "reset":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body[: len(body) // 2])
            await writer.drain()
            writer.transport.abort()
            return
        await self.reply(writer, 200, body)

    async def stream(self, info, steps, mode, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        final = {**info, "e2e_latency": steps * self.step_s}
        for step in range(1, steps + 1):
            await asyncio.sleep(self.step_s)
            last = step == steps
            meta = final if last else {**info, "finish_reason": None, "completion_tokens": step}
            event = f"data: {json.dumps({'text': 'ä' * step, 'meta_info': meta}, ensure_ascii=False)}\n\n".encode()
            if mode == "malformed" and last:
                event = b'data: {"text": "x", \n\n'
            # Chunks end anywhere, also inside a character.
            middle = event.index("ä".encode()) + 1 if "ä".encode() in event else len(event) // 2
            for part in (event[:middle], event[middle:]):
                writer.write(b"%x\r\n" % len(part) + part + b"\r\n")
                await writer.drain()
            if mode == "reset" and step == steps // 2 + 1:
                writer.transport.abort()
                return False
        end = b"data: [DONE]\n\n"
        if mode != "cut":
            writer.write(b"%x\r\n" % len(end) + end + b"\r\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        self.output_tokens += info["completion_tokens"]
        return True

    async def openai(self, asked, writer):
        self.requests += 1
        limit = asked["max_tokens"]
        text = asked.get("prompt") or asked["messages"][0]["content"]
        usage = {"prompt_tokens": len(text.split()), "completion_tokens": limit}
        self.output_tokens += limit
        if not asked.get("stream"):
            await asyncio.sleep(limit * self.step_s)
            body = {"choices": [{"text": "x", "finish_reason": "length"}], "usage": usage}
            await self.reply(writer, 200, json.dumps(body).encode())
            return True
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        events = [{"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}]
        # Two tokens a chunk: whoever counts chunks is wrong by half.
        events += [{"choices": [{"delta": {"content": "a b"}, "finish_reason": None}]} for _ in range(limit // 2)]
        events += [{"choices": [{"delta": {}, "finish_reason": "length"}]}, {"choices": [], "usage": usage}]
        for event in [*(json.dumps(item) for item in events), "[DONE]"]:
            await asyncio.sleep(self.step_s)
            part = f"data: {event}\n\n".encode()
            writer.write(b"%x\r\n" % len(part) + part + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def reply(self, writer, status, content):
        writer.write(
            b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(content))
        )
        writer.write(content)
        await writer.drain()


def main():
    if os.environ.get("FAKE_IGNORE_TERM") == "1":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    fake = Fake(sys.argv[1:])
    failure = os.environ.get("FAKE_FAIL_START", "")
    time.sleep(float(os.environ.get("FAKE_START_S", "0")))
    if failure == "oom":
        sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.")
    if failure == "crash":
        raise RuntimeError("the model has another architecture")
    if failure == "port":
        sys.exit("OSError: [Errno 98] error while attempting to bind: address already in use")
    if failure == "hang":
        say("Loading weights ...")
        time.sleep(3600)
    asyncio.run(fake.serve())


if __name__ == "__main__":
    main()
