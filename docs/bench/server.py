"""Tokens per second from one vLLM server: ours, and a bare asyncio client at the same concurrency, same prompts.

    python docs/bench/server.py MODEL [--packs FILE] [--prompts 64] [--concurrency 8] [--runs 3] [--bare httpx|openai]

Starts vLLM's OpenAI server on loopback, on the CPU where there is no GPU, and ends it. Both send the same bodies:
prompts of `generate` over FILE (`ragpack pack`) or else over the fixture. Runs alternate; the ratio is a median.
Answers must be as many tokens on both sides.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "fixtures")]

from server import NAME, served  # noqa: E402 # the tree before an installed ragpack

from ragpack.readers.base import Completion, Decoding, Request  # noqa: E402 # as above
from ragpack.readers.openai import open_reader  # noqa: E402 # as above
from ragpack.readers.prompts.named import ANSWER  # noqa: E402 # as above
from ragpack.readers.server.asking import Abilities, body_of  # noqa: E402 # as above

Chats = list[list[dict[str, str]]]


def contexts(path: str | None, model: str) -> Chats:
    """The chats of a file of packs."""
    if path is None:
        with tempfile.TemporaryDirectory() as folder:
            hits, packs = Path(folder) / "hits.jsonl", Path(folder) / "packs.jsonl"
            ragpack = [sys.executable, "-m", "ragpack"]
            asked = [*ragpack, "retrieve", "fixtures/questions.jsonl", "-k", "5", "-q", "-o", str(hits)]
            subprocess.run(asked, check=True, cwd=ROOT)
            asked = [*ragpack, "pack", str(hits), "--budget", "160", "-q", "--tokenizer", model, "-o", str(packs)]
            subprocess.run(asked, check=True, cwd=ROOT)
            return contexts(str(packs), model)
    with open(path, "rb") as file:
        rows = [orjson.loads(line) for line in file]
    return [ANSWER.messages(row["question"], row["pack"]["context"]) for row in rows]


def ours(url: str, chats: Chats, concurrency: int) -> tuple[int, float]:
    """Tokens and seconds."""
    reader = open_reader(NAME, base_urls=(url,), concurrency=concurrency)
    started = time.perf_counter()
    total = 0
    for reply in reader.answer(Request(at, chat, decoding=Decoding()) for at, chat in enumerate(chats)):
        assert isinstance(reply, Completion), reply
        total += reply.completion_tokens
    seconds = time.perf_counter() - started
    reader.close()
    return total, seconds


def bare(url: str, chats: Chats, concurrency: int, library: str) -> tuple[int, float]:
    """The same from one event loop with a semaphore."""

    def body(chat: list[dict[str, str]]) -> dict[str, Any]:
        return body_of(NAME, Request(0, chat), Abilities(vllm=True))

    async def by_httpx() -> int:
        import httpx

        room = asyncio.Semaphore(concurrency)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(timeout=600, limits=limits) as client:

            async def one(chat: list[dict[str, str]]) -> int:
                async with room:
                    response = await client.post(f"{url}/chat/completions", json=body(chat))
                return int(response.json()["usage"]["completion_tokens"])

            return sum(await asyncio.gather(*map(one, chats)))

    async def by_openai() -> int:
        import openai

        room = asyncio.Semaphore(concurrency)
        async with openai.AsyncOpenAI(api_key="none", base_url=url, timeout=600) as client:

            async def one(chat: list[dict[str, str]]) -> int:
                async with room:
                    answer: Any = await client.post("/chat/completions", cast_to=object, body=body(chat))
                return int(answer["usage"]["completion_tokens"])

            return sum(await asyncio.gather(*map(one, chats)))

    started = time.perf_counter()
    total = asyncio.run(by_httpx() if library == "httpx" else by_openai())
    return total, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("model", help="the reader's folder")
    parser.add_argument("--packs", help="a file of packs")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bare", choices=("httpx", "openai"), default="httpx", help="the bare client's library")
    options = parser.parse_args()
    chats = contexts(options.packs, options.model)
    chats = (chats * -(-options.prompts // len(chats)))[: options.prompts]
    rates: list[tuple[float, float]] = []
    with served(options.model, length=2048, logprobs=128, room=max(options.concurrency, 8)) as port:
        url = f"http://127.0.0.1:{port}/v1"
        bare(url, chats, options.concurrency, options.bare)  # fills the prefix cache, for both sides
        for _ in range(options.runs):
            mine, took = ours(url, chats, options.concurrency)
            theirs, took_bare = bare(url, chats, options.concurrency, options.bare)
            assert abs(mine - theirs) <= 0.02 * theirs, (mine, theirs)  # a near-tie may fall otherwise in another batch
            rates.append((mine / took, theirs / took_bare))
            print(f"ours {rates[-1][0]:.1f} t/s, bare {rates[-1][1]:.1f} t/s", file=sys.stderr, flush=True)
    left, right, ratio = (statistics.median(column) for column in zip(*[(a, b, a / b) for a, b in rates], strict=True))
    name = f"server / a bare asyncio client ({options.bare}), {options.concurrency} at once"
    print(f"{name:<58} {left:>9.3f} {right:>9.3f} t/s  ratio {ratio:>6.2f}   goal >= 0.9")


if __name__ == "__main__":
    main()
