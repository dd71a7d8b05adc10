"""A fake SGLang or vLLM over real sockets: its endpoints, its counts, its delays, and its failures on demand.

Answers are a pure function of the prompt, so that a test can compute what must be counted. What a server does wrong is
chosen by variables:

    FAKE_FAIL_START   crash | oom | hang | port     how it fails to come up
    FAKE_START_S      seconds until it serves
    FAKE_ENGINE       vllm: vLLM's pages, counters and calls, and none of SGLang's
    FAKE_STEP_MS      milliseconds per verify step, one stream or many, on an absolute schedule, streamed or not
    FAKE_MODE         what an answer does wrong: refuse, reset, http500, http503, malformed, half_char, wrong_usage,
                      abort, slow, crash, hang, garbage (no HTTP), no_meta (no counts), short (half of what was asked),
                      streams only: cut (without its end), malformed_middle, half_char_middle, error_middle, after_done,
                      foreign (somebody else's tokens counted); comma-separated `mode:every` for every n-th request,
                      `mode:n+` for all from the n-th on, `mode:n-` for all up to it;
                      a prompt that begins with `fail:MODE ` fails in this way alone
    FAKE_STEPS_FACTOR the server's own counter of verify steps is wrong by this factor
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
        self.vllm = os.environ.get("FAKE_ENGINE") == "vllm"
        self.drafts = {"steps": 0, "accepted": 0, "proposed": 0, "positions": [0] * self.num_steps}
        self.last_request, self.last_headers = b"{}", {}
        self.modes = [item.partition(":")[::2] for item in os.environ.get("FAKE_MODE", "").split(",") if item]
        self.requests = self.output_tokens = self.flushes = 0
        self.connections, self.connections_at_first = 0, None
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
        self.connections += 1
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
        if path in ("/generate", "/v1/completions", "/v1/chat/completions"):
            self.last_request, self.last_headers = body, headers
            if self.connections_at_first is None:
                self.connections_at_first = self.connections
        if path == "/generate" and not self.vllm:
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
            "/metrics": self.vllm_metrics if self.vllm else self.metrics,
            "/last_request": lambda: self.last_request,
            "/last_headers": lambda: json.dumps(self.last_headers).encode(),
            "/connections_at_first_request": lambda: str(self.connections_at_first).encode(),
        }
        own = {"/reset_prefix_cache": lambda: self.flush() and b'{"success": true}'}
        if not self.vllm:
            own = {"/flush_cache": self.flush}
        for name in ("/server_info", "/model_info") if self.vllm else ():
            del pages[name]
        pages |= own
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
            + (f'sglang:spec_verify_calls_total{{model_name="fake"}} {float(self.drafts["steps"])}\n'
               if self.algorithm else "")
        ).encode()  # fmt: skip

    def vllm_metrics(self):
        drafts, label = self.drafts, 'engine="0",model_name="fake"'
        lines = [f"vllm:generation_tokens_total{{{label}}} {float(self.output_tokens)}"]
        if self.algorithm:
            names = {"num_drafts": "steps", "num_accepted_tokens": "accepted", "num_draft_tokens": "proposed"}
            lines += [f"vllm:spec_decode_{name}_total{{{label}}} {float(drafts[key])}" for name, key in names.items()]
            lines += [
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{label},position="{place}"}} {float(count)}'
                for place, count in enumerate(drafts["positions"])
            ]
        return ("\n".join(lines) + "\n").encode()

    def count(self, info):
        """Count an answer, as an engine does when the last token is made."""
        self.output_tokens += info["completion_tokens"]
        if self.algorithm:
            histogram = info["spec_correct_drafts_histogram"]
            self.drafts["steps"] += info["spec_verify_ct"] * int(os.environ.get("FAKE_STEPS_FACTOR", "1"))
            self.drafts["accepted"] += info["spec_num_correct_drafts"]
            self.drafts["proposed"] += info["spec_num_proposed_drafts"]
            for place in range(self.num_steps):
                self.drafts["positions"][place] += sum(histogram[place + 1 :])

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

    def mode(self, text):
        if text.startswith("fail:"):
            return text[5:].partition(" ")[0]
        for name, every in self.modes:
            number = int(every.rstrip("+-") or 1)
            hit = self.requests >= number if every.endswith("+") else self.requests % number == 0
            if self.requests <= number if every.endswith("-") else hit:
                return name
        return None

    async def fails_at_once(self, mode, writer):
        """Return whether the connection stays; None when the answer is to follow."""
        if mode == "crash":
            say("RuntimeError: the scheduler died")
            os._exit(3)
        if mode == "foreign":
            self.output_tokens += 1000
        if mode == "refuse":
            writer.transport.abort()
            return False
        if mode == "garbage":
            writer.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            await writer.drain()
            return False
        if mode == "http500":
            await self.reply(writer, 500, b'{"error": {"message": "internal"}}')
            return True
        if mode == "http503":
            await self.reply(writer, 503, b'{"error": {"message": "no server is ready"}}')
            return True
        return None

    async def generate(self, asked, writer):
        self.requests += 1
        text = str(asked.get("text") or asked.get("input_ids"))
        mode = self.mode(text)
        done = await self.fails_at_once(mode, writer)
        if done is not None:
            return done
        info, steps = self.answer(text, self.limit(asked, mode))
        if asked.get("stream"):
            return await self.stream(self.native_events(info, steps, mode), steps, info, mode, writer)
        await self.compute(steps, mode)
        info["e2e_latency"] = steps * self.step_s
        self.count(info)
        if mode == "wrong_usage":
            info["completion_tokens"] *= 7
        if mode == "abort":
            info["finish_reason"] = {"type": "abort", "message": "retracted"}
        body = {"text": "x"} if mode == "no_meta" else {"text": "ä" * 10, "meta_info": info}
        return await self.finish(body, mode, writer)

    def limit(self, asked, mode):
        limit = asked["sampling_params"]["max_new_tokens"] if "sampling_params" in asked else asked["max_tokens"]
        return limit // 2 if mode == "short" else limit

    async def compute(self, steps, mode):
        await asyncio.sleep(3600 if mode == "hang" else 2.0 if mode == "slow" else steps * self.step_s)

    async def finish(self, answer, mode, writer):
        body = json.dumps(answer, ensure_ascii=False).encode()
        if mode == "malformed":
            body = body[: len(body) // 2]
        if mode == "half_char":
            body = b'{"text": "\xc3", ' + body[1:]
        if mode == "reset":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body[: len(body) // 2])
            await writer.drain()
            writer.transport.abort()
            return False
        await self.reply(writer, 200, body)
        return True

    def native_events(self, info, steps, mode):
        """Return the events of a streamed /generate: text so far, counts so far."""
        final = {**info, "e2e_latency": steps * self.step_s}
        if mode == "wrong_usage":
            final["completion_tokens"] *= 7
        if mode == "abort":
            final["finish_reason"] = {"type": "abort", "message": "retracted"}
        for step in range(1, steps + 1):
            meta = final if step == steps else {**info, "finish_reason": None, "completion_tokens": step}
            yield {"text": "ä" * step, **({} if mode == "no_meta" else {"meta_info": meta})}

    async def stream(self, events, steps, info, mode, writer):
        """Write one event a verify step, then the end."""
        begun = time.perf_counter()
        events = [json.dumps(event, ensure_ascii=False).encode() for event in events]
        middle = len(events) // 2
        wrong = {"malformed_middle": b'{"text": "x", ', "half_char_middle": b'{"text": "\xc3"}',
                 "error_middle": b'{"error": {"message": "out of memory"}}'}  # fmt: skip
        if mode in wrong:
            events[middle] = wrong[mode]
        if mode == "malformed":
            events[-1] = events[-1][: len(events[-1]) // 2]
        if mode == "half_char":
            events[-1] = events[-1].replace("ä".encode(), b"\xc3", 1) if "ä".encode() in events[-1] else b'"\xc3"'
        if mode in ("hang", "slow"):
            await self.compute(steps, mode)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for index, event in enumerate(events):
            due = begun + min(index + 1, steps) * self.step_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await self.chunks(b"data: " + event + b"\n\n", writer)
            if mode == "reset" and index == middle:
                writer.transport.abort()
                return False
        self.count(info)
        if mode != "cut":
            await self.chunks(b"data: [DONE]\n\n", writer)
        if mode == "after_done":
            await self.chunks(b"data: " + events[-1] + b"\n\n", writer)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def chunks(self, event, writer):
        """Write an event in two chunks that break anywhere, inside a character where there is one."""
        middle = event.index("ä".encode()) + 1 if "ä".encode() in event else len(event) // 2
        for part in (event[:middle], event[middle:]):
            writer.write(b"%x\r\n" % len(part) + part + b"\r\n")
            await writer.drain()

    async def openai(self, asked, writer):
        self.requests += 1
        chat = "messages" in asked
        text = str(asked["messages"][0]["content"] if chat else asked["prompt"])
        mode = self.mode(text)
        done = await self.fails_at_once(mode, writer)
        if done is not None:
            return done
        info, steps = self.answer(text, self.limit(asked, mode))
        usage = {"prompt_tokens": len(text.split()), "completion_tokens": info["completion_tokens"]}
        if mode == "wrong_usage":
            usage["completion_tokens"] *= 7
        more = {key: value for key, value in info.items() if key.startswith("spec_")}
        extension = (
            {"sglext": {"spec_tokens_details": more}} if asked.get("return_spec_tokens_details") and more else {}
        )
        finish = "abort" if mode == "abort" else "length"
        if asked.get("stream"):
            events = self.openai_events(steps, chat, finish, {} if self.vllm else extension)
            events += [] if mode == "no_meta" else [{"choices": [], "usage": usage}]
            return await self.stream(events, steps, info, mode, writer)
        await self.compute(steps, mode)
        self.count(info)
        part = {"message": {"role": "assistant", "content": "ä"}} if chat else {"text": "ä"}
        answer = {"choices": [{**part, "finish_reason": finish}], **({} if self.vllm else extension)}
        return await self.finish(answer if mode == "no_meta" else {**answer, "usage": usage}, mode, writer)

    def openai_events(self, steps, chat, finish, extension):
        """Return the events before the usage: a verify step a chunk, so that whoever counts chunks is wrong."""

        def event(content, reason=None):
            part = {"delta": {"content": content}} if chat else {"text": content}
            return {"choices": [{"index": 0, **part, "finish_reason": reason}]}

        opening = (
            [{"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}] if chat else []
        )
        said = [event("ä ö") for _ in range(steps)]
        return [*opening, *said, event("", finish), *([{"choices": [], **extension}] if extension else [])]

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
