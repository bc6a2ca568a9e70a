"""`guildhall projection status|audit|rebuild`, as an operator types them."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest
from redis.asyncio import Redis

from guildhall.host.hall import LOG_FILE
from guildhall.log.sqlite import open_sqlite
from guildhall.readmodel import records
from guildhall.readmodel.child import RedisChild
from guildhall.readmodel.keys import Keys
from services.arcane_alley.rules import RULES
from services.projection.service import Projection
from tests.readmodel.played import Table

GUILDHALL = [sys.executable, "-c", "from guildhall.cli.main import main; main()"]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisChild]:
    child = RedisChild(tmp_path / "redis")
    await child.start()
    yield child
    await child.stop()


def typed(tmp_path: Path, server: RedisChild, *words: str) -> tuple[int, str]:
    """Exit code and everything that was said."""
    options = ["--redis", server.url, "--data", str(tmp_path), "--game", "arcane-alley"]
    done = subprocess.run([*GUILDHALL, "projection", *words, *options], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


async def test_what_an_operator_sees_and_mends(tmp_path: Path, server: RedisChild) -> None:
    log = open_sqlite(tmp_path / LOG_FILE)
    redis = Redis.from_url(server.url)
    table = Table(await log.events(f"guildhall.{RULES.game}.events"), Random(9), RULES)
    for _ in range(3):
        await table.create(("alice", "bob", "carol"))
    for _ in range(60):
        await table.play(0, 1)
    code, said = typed(tmp_path, server, "status")
    assert code == 1 and "NO MODELS" in said and "records behind" in said
    projection = Projection([RULES], log, redis)
    await projection.start()
    await projection.level()
    assert typed(tmp_path, server, "status") == (0, "arcane-alley: 12 partitions, generation 1: level with the log\n")
    code, said = typed(tmp_path, server, "audit", "--percent", "100", "--salt", "a")
    assert (code, said) == (0, "3 games compared with the log, 0 wrong (--salt a)\n")
    code, said = typed(tmp_path, server, "audit", "--percent", "0", "--salt", "a")
    assert (code, said) == (0, "1 game compared with the log, 0 wrong (--salt a)\n")
    victim = next(iter(table.games))
    [keys] = [keys for keys in (Keys(RULES.game, p) for p in range(12)) if await redis.exists(keys.state(victim))]
    await redis.hset(keys.feed(victim), "1", b"torn")
    code, said = typed(tmp_path, server, "audit", "--game-id", victim, "--no-mend")
    assert code == 1 and f"game {victim}: wrong feed; NOT mended" in said
    code, said = typed(tmp_path, server, "audit", "--game-id", victim)
    assert code == 1 and "mended" in said and "NOT" not in said.splitlines()[0]
    assert typed(tmp_path, server, "audit", "--game-id", victim)[0] == 0
    code, said = typed(tmp_path, server, "audit", "--game-id", victim, "--game-id", "no-such-game")
    assert code == 1 and "know no-such-game" in said and victim not in said
    await redis.delete(keys.summary(victim))
    code, said = typed(tmp_path, server, "rebuild")
    assert code == 0 and f"was wrong: {victim}: summary" in said and "generation 2 is live" in said
    await table.spoil(victim)
    await projection.level()
    code, said = typed(tmp_path, server, "status")
    assert code == 1 and f"STOPPED  {victim}, partition {keys.partition}" in said and "generation 2" in said
    assert "BESIDE" not in said
    # A rebuild that was killed before it had removed the old generation.
    await redis.set(keys.position, b"left")
    code, said = typed(tmp_path, server, "status")
    assert f"BESIDE  partition {keys.partition}: generation 1;" in said
    newer = records.encode(records.Progress(records.FORMAT + 1, 5, 0))
    await projection.close()
    await redis.set(Keys(RULES.game, keys.partition, "2").position, newer)
    code, said = typed(tmp_path, server, "status")
    assert code == 1 and f"NEWER MODELS  partition {keys.partition}: of format {records.FORMAT + 1}" in said
    assert "NO MODELS" not in said
    await redis.aclose()
    await log.close()


async def test_what_cannot_be_reached_is_said_in_a_sentence(tmp_path: Path, server: RedisChild) -> None:
    await server.stop()
    await open_sqlite(tmp_path / LOG_FILE).close()
    code, said = typed(tmp_path, server, "status")
    assert code == 1 and "Traceback" not in said and said.count("\n") <= 3
