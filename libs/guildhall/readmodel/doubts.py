"""What a reader of the models cannot read, told to the projection, which sets it right."""

from typing import Any

from guildhall.readmodel.keys import Keys
from guildhall.telemetry import metrics


async def doubt(redis: Any, keys: Keys, name: str) -> None:
    """Something of this game (of matchmaking: `<pool>:<subject>`) cannot be read. Raises RedisError."""
    metrics.UNREADABLE_MODELS.labels(keys.game).inc()
    await redis.sadd(keys.doubted, name)
