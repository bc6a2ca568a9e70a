"""Calls per second of a bare echo, 32 at once: how much of a hall's work the whole machine does in a second."""

import asyncio
import time

import grpc

from bench.echo import METHOD
from bench.processes import echo_process

SECONDS = 5.0
AT_ONCE = 32


async def echoes() -> float:
    """The rate, with one client process."""
    async with echo_process() as address, grpc.aio.insecure_channel(address) as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)
        end = time.perf_counter() + SECONDS

        async def ask() -> int:
            count = 0
            while time.perf_counter() < end:
                await call(b"x" * 64)
                count += 1
            return count

        return sum(await asyncio.gather(*(ask() for _ in range(AT_ONCE)))) / SECONDS
