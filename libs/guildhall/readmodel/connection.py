"""A client of the Redis that holds the read models."""

import asyncio

from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
"""A server that is silent for longer is gone; nothing here waits at the server for as long."""


CONNECTIONS = 32
"""Of one client: whoever asks while all are in use waits for one, for `ANSWER_SECONDS`."""


def open_redis(url: str, connections: int = CONNECTIONS) -> Redis:
    """For `redis://`, `rediss://` (TLS) and `unix://` addresses, with user and password where there are any.

    Connects when it is first used. Raises ValueError for what is no address.
    """
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=connections,
        timeout=ANSWER_SECONDS,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=ANSWER_SECONDS,
        # Once more, on a new connection: whoever asks decides how long it is worth asking.
        retry=Retry(NoBackoff(), 1),
    )
    return Redis.from_pool(pool)


def readers(redis: Redis, number: int) -> Redis:
    """A client of the same server with so many connections of its own, for whoever would keep others waiting for one,
    or must not wait.
    """
    pool = redis.connection_pool
    own = ConnectionPool(connection_class=pool.connection_class, max_connections=number, **pool.connection_kwargs)
    return Redis.from_pool(own)


def cancelled() -> bool:
    """Whether this task was told to end: the client may report that as a lost connection, or as a time-out."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
