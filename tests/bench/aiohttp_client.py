"""Requests completions from a serving engine, as a benchmark in Python does; prints their number and the CPU time as a line of JSON.

    python aiohttp_client.py URL PROMPT_TOKENS OUTPUT_TOKENS STREAMS_AT_A_TIME SECONDS
"""

import asyncio
import json
import sys
import time

import aiohttp

VOCABULARY = 32000


async def ask(session, url, prompt, output_tokens):
    """Reads a response, and checks that it has the requested number of tokens, which the server must report too."""
    request = {
        "model": "bench",
        "prompt": prompt,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "max_tokens": output_tokens,
        "temperature": 0,
    }
    ids, counted, rest = [], None, b""
    async with session.post(url, json=request) as response:
        response.raise_for_status()
        async for some in response.content.iter_any():
            *events, rest = (rest + some).split(b"\n\n")
            for event in events:
                data = event.removeprefix(b"data: ")
                if data == b"[DONE]":
                    continue
                event = json.loads(data)
                for choice in event["choices"]:
                    ids += choice["token_ids"]
                if "usage" in event:
                    counted = event["usage"]["completion_tokens"]
    if not len(ids) == counted == output_tokens:
        sys.exit(f"received {len(ids)} ids, the server counted {counted}, {output_tokens} were requested")


async def main(url, prompt_tokens, output_tokens, at_a_time, seconds):
    url += "/v1/completions"
    prompt = [place * 31 % VOCABULARY for place in range(prompt_tokens)]
    streams = 0

    async def worker(until):
        nonlocal streams
        while time.monotonic() < until:
            await ask(session, url, prompt, output_tokens)
            streams += 1

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_a_time)) as session:
        # Open all connections before measuring.
        await asyncio.gather(*(ask(session, url, prompt, output_tokens) for _ in range(at_a_time)))
        cpu, until = time.process_time(), time.monotonic() + seconds
        await asyncio.gather(*(worker(until) for _ in range(at_a_time)))
        cpu = time.process_time() - cpu
    print(json.dumps({"streams": streams, "cpu_seconds": cpu}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
