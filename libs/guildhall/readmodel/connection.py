"""A client of the Redis that holds the read models."""

import asyncio

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
"""A server that is silent for longer is gone; nothing here waits at the server for as long."""


def open_redis(url: str) -> Redis:
    """For `redis://`, `rediss://` (TLS) and `unix://` addresses, with user and password where there are any.

    Connects when it is first used. Raises ValueError for what is no address.
    """
    client: Redis = Redis.from_url(
        url,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=ANSWER_SECONDS,
        # Once more, on a new connection: whoever asks decides how long it is worth asking.
        retry=Retry(NoBackoff(), 1),
    )
    return client


def cancelled() -> bool:
    """Whether this task was told to end: the client may report that as a lost connection, or as a time-out."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
